"""Settings collected from their sources: a runtime's manners, a file, single assignments."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast, get_args

from flows.rehearsal.checked import SettingsError
from flows.rehearsal.settings import Dialect, like, overlaid


def collected(
    runtime: str | None, source: str | None, assignments: Sequence[str]
) -> dict[str, Any]:
    """Return settings as JSON: the runtime's manners, then the file, then `a.b=value` each."""
    data = _manners(runtime) if runtime else {}
    if source:
        data = overlaid(data, _read(source))
    for assignment in assignments:
        data = overlaid(data, _assigned(assignment))
    return data


def _manners(runtime: str) -> dict[str, Any]:
    known = get_args(Dialect)
    if runtime not in known:
        raise SettingsError(f"there is no runtime {runtime!r}: known are {', '.join(known)}")
    return like(cast("Dialect", runtime))


def _read(source: str) -> dict[str, Any]:
    try:
        text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
        data = json.loads(text)
    except OSError as error:
        raise SettingsError(f"{source} cannot be read: {error.strerror}") from None
    except json.JSONDecodeError as error:
        raise SettingsError(f"{source} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise SettingsError(f"{source} does not hold a JSON object")
    return data


def _assigned(assignment: str) -> dict[str, Any]:
    """Nested object of one `a.b=value`; a value that is not JSON is text."""
    keys, separator, text = assignment.partition("=")
    if not separator:
        raise SettingsError(f"{assignment!r} has no '=': write KEY.KEY=VALUE")
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        value = text
    for key in reversed(keys.split(".")):
        value = {key: value}
    return dict(value)
