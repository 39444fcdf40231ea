"""`python -P -m flows.rehearsal`: the rehearsal server as a process of its own."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from flows.rehearsal.checked import SettingsError
from flows.rehearsal.process import serve
from flows.rehearsal.settings import Settings, like, overlaid

USAGE_EXIT_CODE = 2


def main(arguments: list[str]) -> int:
    """Run a server until it is told to stop; returns the exit code."""
    parser = argparse.ArgumentParser(prog="flows.rehearsal", description=__doc__)
    parser.add_argument("--port", type=int, help="0 (default) takes a free one")
    parser.add_argument("--like", help="vllm, sglang, tensorrt_llm or llama_server")
    parser.add_argument("--settings", help="JSON file with any settings, - for stdin")
    parser.add_argument("--truth", help="file for what really happened, written at the end")
    parser.add_argument("--set", action="append", default=[], metavar="KEY.KEY=JSON")
    given = parser.parse_args(arguments)
    try:
        settings = Settings.from_json(_collected(given))
    except SettingsError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return USAGE_EXIT_CODE
    return serve(settings)


def _collected(given: argparse.Namespace) -> dict[str, Any]:
    data = like(given.like) if given.like else {}
    if given.settings:
        data = overlaid(data, _read(given.settings))
    for assignment in given.set:
        data = overlaid(data, _assigned(assignment))
    if given.port is not None:
        data["port"] = given.port
    if given.truth is not None:
        data["truth"] = given.truth
    return data


def _read(source: str) -> dict[str, Any]:
    text = sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")
    try:
        data = json.loads(text)
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
