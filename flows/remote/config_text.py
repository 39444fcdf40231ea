"""An OpenSSH configuration as one text, with the files that it includes (ssh_config(5))."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from flows.errors import UsageError

_INCLUDE: Final = re.compile(r"^\s*include[\s=]+(?P<names>.+)$", re.IGNORECASE)
_HOME: Final = re.compile(r"(?<=[\s=\"])~(?=/)")
_DEEPEST: Final = 16


def config_text(path: Path, home: Path, depth: int = 0) -> str:
    """The file's text; each ``Include`` is replaced by what it names, relative to ``.ssh``.

    ``~`` is ``home``, whatever the process's own environment says.

    Raises
    ------
    UsageError
        If the file cannot be read, or files include each other without end.
    """
    if depth > _DEEPEST:
        raise UsageError(str(path), "its Includes do not end", "Look for a file within itself")
    try:
        lines = path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError as error:
        raise UsageError(
            str(path), f"it cannot be read: {error.strerror}", "Name another: RUNOFF_SSH_CONFIG"
        ) from None
    return "\n".join(_expanded(lines, home, depth))


def _expanded(lines: list[str], home: Path, depth: int) -> Iterator[str]:
    for each in lines:
        line = _HOME.sub(lambda _: str(home), each)
        found = _INCLUDE.match(line)
        if found is None:
            yield line
            continue
        for name in shlex.split(found["names"], comments=True):
            place = home / ".ssh" / name
            for path in sorted(Path("/").glob(str(place.relative_to("/")))):
                yield config_text(path, home, depth + 1)
