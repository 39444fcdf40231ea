"""The readings of one server over a cell: what was counted between them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from flows.collect.figure import Unavailable
from flows.collect.histogram import Histogram
from flows.collect.page import STARTED
from flows.collect.reading import Reading

UNREAD = Unavailable(reason="not available: no reading before and after the cell")
RESET = Unavailable(
    reason="not available: the server's counters began anew during the cell (a restart)"
)
LOST = Unavailable(
    reason="not available: steps went unread (somebody else read them, or too many passed)"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Readings in order of time, from before a cell's first request to after its last."""

    readings: tuple[Reading, ...]

    @property
    def before(self) -> Reading:
        """The first reading."""
        return self.readings[0]

    @property
    def after(self) -> Reading:
        """The last reading."""
        return self.readings[-1]

    @property
    def fault(self) -> Unavailable | None:
        """Why nothing may be subtracted; None where it may."""
        if len(self.readings) < 2:
            return UNREAD
        if any(fallen(earlier, later) for earlier, later in pairwise(self.readings)):
            return RESET
        return None

    def gain(self, name: str) -> float | Unavailable | None:
        """What a counter gained; None where it is not on the last page.

        A counter that only the last page has was counted for the first time in between:
        clients of Prometheus show a labelled series from its first count on.
        """
        if self.fault is not None:
            return self.fault
        if any(name in reading.amounts for reading in self.readings[1:]):
            return self._amount(name)
        if name not in self.after.counters:
            return None
        if self.after.steps is not None and name not in self.before.counters:
            return UNREAD  # the engine was idle, so that its page was empty
        return self.after.counters[name] - self.before.counters.get(name, 0.0)

    def gains(self, names: Iterable[str]) -> dict[str, float | Unavailable]:
        """What each of these counters gained, those that are not shown left out."""
        found = {name: self.gain(name) for name in names}
        return {name: gain for name, gain in found.items() if gain is not None}

    def _amount(self, name: str) -> float | Unavailable:
        told = [reading for reading in self.readings[1:] if reading.steps is not None]
        steps = [reading.steps for reading in self.readings if reading.steps is not None]
        is_whole = all(later[0] == earlier[1] + 1 for earlier, later in pairwise(steps))
        if not is_whole or any(name not in reading.amounts for reading in told):
            return LOST
        return sum((reading.amounts[name] for reading in told), 0.0)

    def times(self, name: str) -> Histogram | Unavailable | None:
        """What a histogram counted; None where it is not on the last page."""
        if self.fault is not None:
            return self.fault
        last, first = self.after.histograms.get(name), self.before.histograms.get(name)
        if last is None or first is None:
            return last
        return last.since(first) or RESET

    def from_(self, monotonic_ns: int) -> Span:
        """From the last reading that was whole at this time on; all if there is none."""
        earlier = [r for r in self.readings[:-1] if r.answered_ns <= monotonic_ns]
        skipped = max(0, len(earlier) - 1)
        return Span(readings=self.readings[skipped:])


def fallen(earlier: Reading, later: Reading) -> str | None:
    """A cumulative sample that fell or vanished, or a start of the server that changed."""
    for key, value in earlier.parts.items():
        now = later.parts.get(key)
        if now is None or now < value or (key.startswith(STARTED) and now != value):
            return key
    return None
