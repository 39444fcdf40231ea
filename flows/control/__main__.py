"""Control of this machine for a campaign elsewhere.

``python -P -m flows.control hold ORDER FOLDER`` makes the settings of the JSON file ORDER and
prints how they came out as one line; it holds them until it is told to end (SIGTERM), puts
them back, and prints the record again. With ``--with-caller`` behind it also ends with its
standard input. ``restore FOLDER`` undoes what a killed controller left. Runs on the machine:
standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import FrameType

from flows.control.apply import controlled, restore_leftover
from flows.control.host import Here, administrator


class _Ended(Exception):
    """The controller was told to end."""


def main(arguments: Sequence[str]) -> int:
    """Hold or restore; returns the exit code."""
    match arguments:
        case ["hold", order, folder]:
            return _hold(Path(order), folder, signal.pause)
        case ["hold", order, folder, "--with-caller"]:
            return _hold(Path(order), folder, sys.stdin.read)
        case ["restore", folder]:
            said = restore_leftover(Here(prefix=administrator()), folder)
            print(said or "nothing was left")  # noqa: T201 - the answer to who asked
            return 0 if said is None or said.endswith("put back") else 1
    print(__doc__, file=sys.stderr)  # noqa: T201
    return 2


def _hold(path: Path, folder: str, wait: Callable[[], object]) -> int:
    order = json.loads(path.read_bytes())
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, _end)
    control = None
    try:
        with controlled(Here(prefix=administrator()), order, folder) as control:
            _say(control.to_json())
            wait()
    except _Ended:
        pass
    if control is not None:
        _say(control.to_json())
    return 0


def _end(number: int, _frame: FrameType | None) -> None:
    for each in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(each, signal.SIG_IGN)  # nothing keeps it from putting back
    raise _Ended(str(number))


def _say(record: dict[str, object]) -> None:
    with suppress(OSError):  # whoever asked may be gone; the machine is put back all the same
        os.write(sys.stdout.fileno(), (json.dumps(record) + "\n").encode())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
