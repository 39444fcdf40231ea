"""Reading a server's metrics while a cell runs, without being felt.

One GET at a time, outside the load process, unparsed until the cell is over; the pause
between two grows with the cell, so that a long one is not read more often than a short one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final

from flows.collect.page import Page
from flows.collect.reading import Reading
from flows.collect.source import Clock, Fetch, Source
from flows.collect.span import Span

_LEAST_S: Final = 0.25
_MOST_S: Final = 2.0
_SHARE: Final = 0.1


def pause_s(elapsed_s: float) -> float:
    """How long to wait until the next reading of a cell that has run so long."""
    return min(max(elapsed_s * _SHARE, _LEAST_S), _MOST_S)


@dataclass(slots=True)
class Sampler:
    """Readings of one server, from before a cell to after it.

    ``before`` and ``after`` are the last ones of their waits for an idle server, where these
    could be had; ``pages`` are those in between.
    """

    source: Source
    fetch: Fetch
    clock: Clock
    before: Reading | None = None
    after: Reading | None = None
    pages: list[Page] = field(default_factory=list)
    _read: list[Reading | None] = field(default_factory=list)

    def sample(self) -> None:
        """Keep the page as it is now."""
        page = self.source.page(self.fetch, self.clock)
        if page is not None:
            self.pages.append(page)

    def look(self) -> Reading | None:
        """The page as it is now, read at once; for times without load."""
        page = self.source.page(self.fetch, self.clock)
        return None if page is None else self.source.reading(page)

    def readings(self) -> tuple[Reading, ...]:
        """What was sampled; each page is read once, however often this is asked."""
        for page in self.pages[len(self._read) :]:
            self._read.append(self.source.reading(page))
        return tuple(reading for reading in self._read if reading is not None)

    def span(self) -> Span | None:
        """All readings from before to after; None where one of these is missing."""
        if self.before is None or self.after is None:
            return None
        return Span(readings=(self.before, *self.readings(), self.after))
