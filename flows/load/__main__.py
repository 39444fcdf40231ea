"""`python -P -m flows.load PLAN RAW [PARENT]`: run a plan, write what happened.

Exit code 0 when the run is whole, 130 when SIGINT, SIGTERM or SIGHUP ended it, or the end of
its parent process where that one's id is given (what was measured is written all the same),
2 when the plan, an endpoint or this machine does not allow it.
"""

import os
import sys
from pathlib import Path

from flows.load.errors import LoadError
from flows.load.run import run_plan

_USAGE = "usage: python -P -m flows.load PLAN RAW [PARENT]\n"


def main(arguments: list[str], *, loopback_only: bool) -> int:
    """Exit code of the load process."""
    match arguments:
        case [plan, raw]:
            home = None
        case [plan, raw, parent] if parent.isdecimal():
            home = int(parent)
        case _:
            sys.stderr.write(_USAGE)
            return 2
    try:
        is_whole = run_plan(Path(plan), Path(raw), loopback_only=loopback_only, home=home)
    except LoadError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0 if is_whole else 130


if __name__ == "__main__":
    only = os.environ.get("RUNOFF_LOOPBACK_ONLY") == "1"
    raise SystemExit(main(sys.argv[1:], loopback_only=only))
