"""Ctrl-C, SIGTERM and SIGHUP during a campaign: asked once, everything winds down.

The first one stops the load and lets nothing new begin; servers are stopped, machines given
back and what was measured is reported, on the way that an undisturbed end takes too. A second
one only says what is still owned: an exception here would lose it. No exception travels
through Prefect, which would take a run that ends for one that crashed.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

CAMPAIGN: Final = "stopping the load, releasing, reporting what there is"
_HEARD: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_STANDARD_ERROR: Final = 2


class Interrupted(Exception):
    """Raised where a step that takes long is given up because of an interruption."""


class Interruption:
    """Whether the campaign was asked to end, by a signal or by a lane that had to.

    ``ends_by`` are the words on what the first signal sets off.
    """

    def __init__(self, ends_by: str = CAMPAIGN) -> None:
        self._ends_by = ends_by
        self._owned: Callable[[], str] = str
        self._why: str | None = None
        self._late: str | None = None
        self._is_over = False
        self._loads: dict[int, Callable[[], None]] = {}
        self._lock = threading.RLock()  # a handler runs inside whatever holds it

    @property
    def why(self) -> str | None:
        """What asked for the end (``SIGINT``, ``budget``); None while nothing did."""
        return self._why

    @property
    def late(self) -> str | None:
        """What asked for the end when nothing was left to end; None where nothing did."""
        return self._late

    @property
    def is_asked(self) -> bool:
        """Whether nothing new may begin."""
        return self._why is not None

    def ask(self, why: str) -> None:
        """End: tell the loads that run; the first reason stays."""
        with self._lock:
            if self._is_over:
                self._late = self._late or why
            elif self._why is None:
                self._why = why
                for stop in tuple(self._loads.values()):
                    stop()

    def nothing_is_left(self) -> None:
        """From now on nothing can end early: who asks for the end is only remembered."""
        with self._lock:
            self._is_over = True

    def tells(self, owned: Callable[[], str]) -> None:
        """A second signal says what is owned: a machine by name, or nothing."""
        self._owned = owned

    def check(self) -> None:
        """Return while nothing has asked for the end; else raise Interrupted."""
        if self._why is not None:
            raise Interrupted(self._why)

    @contextmanager
    def telling(self, stop: Callable[[], None]) -> Iterator[None]:
        """Within the block ``stop`` is called when the end is asked for; it must not wait."""
        key = id(stop)
        with self._lock:
            self._loads[key] = stop
            if self._why is not None:
                stop()
        try:
            yield
        finally:
            with self._lock:
                del self._loads[key]

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Within the block signals ask for the end; those that were ignored stay ignored."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        before = {
            number: handler
            for number in _HEARD
            if (handler := signal.getsignal(number)) != signal.SIG_IGN
        }
        for number in before:
            signal.signal(number, self._take)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        if self._is_over and not self.is_asked:
            _say(f"\n{name}: all is measured; it ends when the report is written\n")
            self.ask(name)
            return
        if not self.is_asked:
            _say(f"\n{name}: {self._ends_by}\n")
            self.ask(name)
            return
        owned = self._owned()
        _say(f"\n{name}: already ending; {owned or 'nothing is owned any more'}\n")


def _say(text: str) -> None:
    """Straight to standard error: the stream's own lock may be held by what was interrupted."""
    try:
        os.write(_STANDARD_ERROR, text.encode())
    except OSError:
        return  # nobody reads it any more
