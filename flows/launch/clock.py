"""The time that a launch sees: passed in, so that no computation reads a clock of its own."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    """Time as a launch needs it."""

    def monotonic_ns(self) -> int:
        """Nanoseconds from any fixed moment on."""
        ...

    def utc(self) -> datetime:
        """Calendar time."""
        ...

    def sleep(self, duration_s: float) -> None:
        """Return after this time."""
        ...


class SystemClock:
    """The machine's clocks."""

    def monotonic_ns(self) -> int:
        """Nanoseconds of the monotonic clock."""
        return time.monotonic_ns()

    def utc(self) -> datetime:
        """Now, in UTC."""
        return datetime.now(UTC)

    def sleep(self, duration_s: float) -> None:
        """Return after this time."""
        time.sleep(duration_s)
