"""A job's keeper on its host: ``python -P -m flows.remote.keeper FOLDER``.

It starts the ordered program in a session of its own, once, whoever asks how often; it writes
down how that goes; it stops the job when told to, or when nobody has asked for a lease's time.
A guard of its own ends the job where the keeper is killed. Runs on the host: standard library
only.
"""

from __future__ import annotations

import fcntl
import os
import signal
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Any, Final

from flows.errors import LaunchError
from flows.launch.child import Child, start
from flows.launch.clock import SystemClock
from flows.launch.ending import KILL, Step, end
from flows.launch.guard import Guard, Orders, run_cleanup
from flows.launch.processes import MARK, NO_LEADER, Family, killed_for_memory
from flows.remote.job_folder import (
    ENDED,
    LEASE,
    LOCK,
    ORDER,
    STATE,
    STOP,
    Order,
    manner_of,
    read,
    renew,
    this_process,
    write,
)

_LOOK_S: Final = 0.05
_LEASE_LOOK_S: Final = 1.0


def main(arguments: Sequence[str]) -> int:
    """Keep one job from its start to its end; returns the exit code."""
    folder = Path(arguments[0])
    with (folder / LOCK).open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return 0  # it has a keeper
        if (folder / STATE).exists() or (folder / ENDED).exists():
            return 0  # it was started once, and is not started twice
        order = Order.from_json(read(folder / ORDER))
        mark = f"job-{os.getpid()}-{time.monotonic_ns()}"
        renew(folder)
        write(
            folder / STATE,
            {
                "stage": "starting",
                "mark": mark,
                "keeper": this_process(),
                "note": dict(order.note),
            },
        )
        (folder / ORDER).unlink()
        write(folder / ENDED, Keeper(folder, order, mark).kept())
    return 0


class Keeper:
    """One job under way."""

    def __init__(self, folder: Path, order: Order, mark: str) -> None:
        self._folder = folder
        self._order = order
        self._family = Family(leader=NO_LEADER, mark=mark)
        self._clock = SystemClock()
        self._is_told = False
        self._looked_s = 0.0
        self._renewed_s = time.monotonic()
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, _pass)  # an ignored signal would stay so for the job
        signal.signal(signal.SIGTERM, self._hear)

    def kept(self) -> dict[str, Any]:
        """How the job ended, once nothing of it is left."""
        order, clock = self._order, self._clock
        orders = Orders(family=self._family, manner=order.manner, cleanup=order.cleanup)
        kills = killed_for_memory() or 0
        guard = Guard(orders)
        try:
            child = self._started(guard)
            manner, why = self._watched(child)
        except LaunchError as error:
            guard.dismiss()
            failed = {"kind": error.kind, "where": error.where}
            return {"failed": {**failed, "seen": error.seen, "do": error.do}}
        except BaseException:
            end(self._family, KILL, clock)
            guard.dismiss()
            raise
        ended = end(self._family, manner, clock)
        cleanup = run_cleanup(order.cleanup, order.env)
        guard.dismiss()
        return {
            "why": why,
            "exit_code": child.exit_code() if ended.left else child.reap(),
            "signals": list(ended.signals),
            "duration_ns": ended.duration_ns,
            "left": [[each.pid, each.state] for each in ended.left],
            "memory_kills": (killed_for_memory() or 0) - kills,
            "cleanup": cleanup,
        }

    def _started(self, guard: Guard) -> Child:
        order = self._order
        if order.cpus:
            os.sched_setaffinity(0, order.cpus)  # what we start inherits it
        mark = self._family.mark
        child = start(
            order.argv,
            Path(order.cwd),
            log=Path(order.log),
            env={**order.env, MARK: mark},
            clock=self._clock,
        )
        self._family = replace(self._family, leader=child.pid)
        guard.follow(child.pid)
        write(
            self._folder / STATE,
            {
                "stage": "running",
                "pid": child.pid,
                "mark": mark,
                "started_ns": child.started_ns,
                "started_at": child.started_at.isoformat(),
                "keeper": this_process(),
                "note": dict(order.note),
            },
        )
        return child

    def _watched(self, child: Child) -> tuple[tuple[Step, ...], str]:
        """Wait for the job's end or for a reason to end it: in which manner, and why."""
        manner, other = self._order.manner, self._order.while_lives
        while child.exit_code() is None:
            asked = read(self._folder / STOP)
            if asked is not None or self._is_told:
                told = manner_of(asked["manner"]) if asked and asked["manner"] else manner
                return told, "stopped"
            if self._is_forgotten():
                return manner, "expired"
            if other is not None and (Path(other) / ENDED).exists():
                with suppress(ProcessLookupError):
                    os.kill(child.pid, signal.SIGINT)
                other = None
            self._clock.sleep(_LOOK_S)
        return manner, "ended"

    def _is_forgotten(self) -> bool:
        """Whether nobody has renewed the lease for its time; looked at each second."""
        now_s = time.monotonic()
        if now_s - self._looked_s < _LEASE_LOOK_S:
            return False
        self._looked_s = now_s
        renewed_s = read(self._folder / LEASE)
        if isinstance(renewed_s, float):
            self._renewed_s = renewed_s  # a file that is gone renews nothing
        return now_s - self._renewed_s > self._order.lease_s

    def _hear(self, _number: int, _frame: FrameType | None) -> None:
        self._is_told = True


def _pass(_number: int, _frame: FrameType | None) -> None:
    """Nothing: whoever wants the job ended says so in its folder."""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
