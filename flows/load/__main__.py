"""`python -P -m flows.load PLAN RAW`: run a plan, write what happened.

Exit code 0 when the run is whole, 130 when SIGINT, SIGTERM or SIGHUP ended it (what was
measured is written all the same), 2 when the plan, an endpoint or this machine does not
allow it.
"""

import os
import sys
from pathlib import Path

from flows.load.errors import LoadError
from flows.load.run import run_plan

_ARGUMENTS = 2


def main(arguments: list[str], *, loopback_only: bool) -> int:
    """Exit code of the load process."""
    if len(arguments) != _ARGUMENTS:
        sys.stderr.write("usage: python -P -m flows.load PLAN RAW\n")
        return 2
    plan_path, raw_path = map(Path, arguments)
    try:
        is_whole = run_plan(plan_path, raw_path, loopback_only=loopback_only)
    except LoadError as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except KeyboardInterrupt:
        return 130
    return 0 if is_whole else 130


if __name__ == "__main__":
    only = os.environ.get("RUNOFF_LOOPBACK_ONLY") == "1"
    raise SystemExit(main(sys.argv[1:], loopback_only=only))
