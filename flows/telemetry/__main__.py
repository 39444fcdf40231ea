"""The sampler: ``python -P -m flows.telemetry FILE [OPTIONS]``.

It writes to FILE until it is told to end or its time is over; ``--with-caller``: or until its
standard input ends, as it does when whoever holds the other end is gone.
Runs on the machine: standard library only.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from flows.telemetry.sampler import Settings, sample


def main(arguments: Sequence[str]) -> int:
    """Sample to the end; returns the exit code."""
    parser = argparse.ArgumentParser(prog="flows.telemetry")
    parser.add_argument("file", type=Path)
    parser.add_argument("--every", type=float, default=Settings().every_s)
    parser.add_argument("--most", type=float, default=Settings().most_s)
    parser.add_argument("--nvml", default=Settings().nvml)
    parser.add_argument("--cpus", default="")
    parser.add_argument("--with-caller", action="store_true")
    asked = parser.parse_args(arguments)
    cpus = {int(cpu) for cpu in asked.cpus.split(",") if cpu}
    if cpus:
        os.sched_setaffinity(0, cpus)  # the vendor's tool inherits it
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stop.set())
    if asked.with_caller:
        threading.Thread(target=_until_alone, args=(stop,), daemon=True).start()
    settings = Settings(every_s=asked.every, most_s=asked.most, nvml=asked.nvml)
    with asked.file.open("w", encoding="utf-8") as out:
        sample(out, stop, settings)
    return 0


def _until_alone(stop: threading.Event) -> None:
    while os.read(sys.stdin.fileno(), 4096):  # no buffer: its lock would outlive this thread
        pass
    stop.set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
