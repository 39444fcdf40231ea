"""Who else uses this host: ``python -P -m flows.remote.watch_load FILE [PID…]``.

Samples until it is interrupted and writes what it saw. Runs on the host: standard library only.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from flows.foreign_load import Sampler, sampled
from flows.remote.job_folder import write

_ENDINGS = (signal.SIGINT, signal.SIGTERM)


def main(arguments: Sequence[str]) -> int:
    """Sample beside a measurement; returns the exit code."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)
    with sampled(Sampler(map(int, arguments[1:]))) as sampler:
        signal.sigwait(_ENDINGS)
    write(Path(arguments[0]), sampler.load().to_json())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
