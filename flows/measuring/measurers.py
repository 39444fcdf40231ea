"""The measuring processes of a campaign, each used again by later launches."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

from flows.interruption import Interruption
from flows.measuring.process import MeasuringProcess


class Measurers:
    """Takes one that is idle on the CPUs asked for, or starts it, which costs a second."""

    def __init__(self, interruption: Interruption) -> None:
        self._interruption = interruption
        self._idle: list[MeasuringProcess] = []
        self._lock = threading.Lock()

    def take(self, log: Path, cpus: Sequence[int] = ()) -> MeasuringProcess:
        """One on these CPUs (none: on all), whose complaints are kept in ``log``."""
        with self._lock:
            for each in self._idle:
                if each.cpus == tuple(cpus) and each.is_fit:
                    self._idle.remove(each)
                    each.turn_to(log)
                    return each
        return MeasuringProcess(log, self._interruption, cpus)

    def give_back(self, process: MeasuringProcess) -> None:
        """Keep it for a later launch; one that was told to stop is ended."""
        process.keep_words()
        if not process.is_fit:
            with process:
                return
        with self._lock:
            self._idle.append(process)

    def end(self) -> None:
        """End those that are idle."""
        with self._lock:
            idle, self._idle = self._idle, []
        for each in idle:
            with each:
                pass
