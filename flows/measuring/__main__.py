"""``python -P -m flows.measuring [CPU,CPU]``: jobs on standard input, answers on output."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading

from flows.errors import RunoffError
from flows.measuring.answers import Answer, Failed, Interrupted, Value
from flows.measuring.frames import receive, send
from flows.measuring.jobs import Job


def main(arguments: list[str]) -> int:
    """Do jobs until standard input ends or one is interrupted; returns the exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # our starter hears them, and tells us
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if arguments:
        os.sched_setaffinity(0, {int(cpu) for cpu in arguments[0].split(",")})
    answers = os.dup(sys.stdout.fileno())
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # nothing else gets between answers
    jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(sys.stdin.fileno(), jobs), daemon=True).start()
    _warm_up()
    while True:
        try:
            job = jobs.get()
            if job is None:
                return 0
            answer = _answer(job)
        except KeyboardInterrupt:
            answer = Interrupted()
        try:
            send(answers, answer)
        except BrokenPipeError:
            return 0
        if isinstance(answer, Interrupted):
            return 0


def _answer(job: Job) -> Answer:
    try:
        return Value(job.done())
    except RunoffError as error:
        return Failed(
            kind=type(error).__name__, where=error.where, seen=error.seen, do=error.do
        )


def _read(stream: int, jobs: queue.SimpleQueue[Job | None]) -> None:
    """Hand on jobs; at the end of the stream, whoever asked is gone: stop what is under way."""
    while True:
        try:
            jobs.put(receive(stream))
        except EOFError:
            jobs.put(None)
            os.kill(os.getpid(), signal.SIGINT)
            return


def _warm_up() -> None:
    """Imports that would else take their second between two cells."""
    import flows.bench.account  # noqa: PLC0415
    import flows.bench.judge  # noqa: PLC0415
    import flows.bench.merge  # noqa: PLC0415
    import flows.bench.server  # noqa: F401, PLC0415


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
