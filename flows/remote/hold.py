"""The host's lock, held for a campaign elsewhere: ``python -P -m flows.remote.hold REQUEST``.

It is the lock that campaigns on the host itself take, so each shuts the other out. It is held
until this process is told to end, or until the campaign's time is over. Runs on the host:
standard library only.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from flows.errors import InfrastructureError
from flows.host_lock import free, lock_folder, take
from flows.remote.job_folder import write

HOST: Final = "local"  # the name under which a host locks itself
HELD: Final = "held.json"
REFUSED: Final = "refused.json"
_REFUSAL: Final = 3


def main(arguments: Sequence[str]) -> int:
    """Hold the lock; returns the exit code."""
    asked = json.loads(arguments[0])
    now = dt.datetime.now(dt.UTC)
    folder = lock_folder(os.environ)
    signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGTERM,))
    try:
        holder, before = take(
            folder,
            HOST,
            campaign=asked["campaign"],
            run=asked["run"],
            now=now,
            expires=now + dt.timedelta(seconds=asked["seconds"]),
        )
    except InfrastructureError as error:
        write(Path(REFUSED), {"seen": error.seen, "do": error.do})
        return _REFUSAL
    told = {"holder": holder.to_json(), "took_over": None if before is None else str(before)}
    write(Path(HELD), told)
    signal.sigtimedwait((signal.SIGTERM,), max(0.0, asked["seconds"]))
    free(folder, HOST, holder.token)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
