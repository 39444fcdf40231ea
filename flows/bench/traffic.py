"""Is the server ours alone? Its own metrics before, during and after a cell."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
from numpy.typing import NDArray

from flows.bench.metrics import Page, Reading, Source, find_source
from flows.load.plan import Endpoint

_DRAIN_S: Final = 5.0  # how long a server may take to be seen empty
_POLL_S: Final = 0.1
_LEAST_S: Final = 0.25  # between two samples of a short cell
_MOST_S: Final = 2.0  # and of a long one
_GAUGE_LAG_NS: Final = 200_000_000  # gauges follow the engine's steps, not each request
_ABORT_LAG_NS: Final = 5_000_000_000  # a server may work on what its client gave up

Times = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class OurRequests:
    """When each request that we sent to one endpoint was in the server."""

    sent_ns: Times
    done_ns: Times
    was_aborted: NDArray[np.bool_]

    def most_between(self, first_ns: int, last_ns: int) -> int:
        """Upper bound of our requests in the server at any time of a span."""
        gone_ns = self.done_ns + np.where(self.was_aborted, _ABORT_LAG_NS, _GAUGE_LAG_NS)
        return int(np.count_nonzero((self.sent_ns <= last_ns) & (gone_ns >= first_ns)))


@dataclass(slots=True)
class Watch:
    """Reads the metrics of all endpoints that have some; unparsed while the load runs."""

    sources: list[tuple[int, Source]]
    before: list[Reading] = field(default_factory=list)
    after: list[Reading] = field(default_factory=list)
    pages: list[tuple[int, Page]] = field(default_factory=list)
    _started_s: float = 0.0

    @classmethod
    def over(cls, endpoints: Sequence[Endpoint]) -> Watch:
        """A watch over those endpoints that show metrics; the rest stays unknown."""
        found = ((index, find_source(endpoint)) for index, endpoint in enumerate(endpoints))
        return cls([(index, source) for index, source in found if source is not None])

    def settle_before(self) -> None:
        """Wait, not for long, until the servers are seen empty, and keep the readings."""
        self.before = self._settled()
        self._started_s = time.monotonic()

    def settle_after(self) -> None:
        """The same once the load has ended."""
        self.after = self._settled()

    def sample(self) -> float:
        """Keep each page as it is; returns after how many seconds to come again."""
        for index, source in self.sources:
            page = source.page()
            if page is not None:
                self.pages.append((index, page))
        elapsed_s = time.monotonic() - self._started_s
        return min(max(elapsed_s / 10, _LEAST_S), _MOST_S) if self.sources else _MOST_S

    def _settled(self) -> list[Reading]:
        until_s = time.monotonic() + _DRAIN_S
        while True:
            pages = [(source, source.page()) for _, source in self.sources]
            readings = [source.reading(page) for source, page in pages if page is not None]
            if not any(reading.present for reading in readings) or time.monotonic() > until_s:
                return readings
            time.sleep(_POLL_S)

    def account(self, ours: Sequence[OurRequests], window: tuple[int, int]) -> Account:
        """What the readings say beside our requests, given by endpoint."""
        sources = dict(self.sources)
        samples = [(index, sources[index].reading(page)) for index, page in self.pages]
        return Account(
            runtime=self.sources[0][1].dialect.runtime if self.sources else None,
            requests_before=_sum_present(self.before),
            requests_after=_sum_present(self.after),
            foreign_peak=_foreign_peak(samples, ours),
            waiting_share=_waiting_share(samples, window),
            prefix_hit_share=_hit_share(self.before, self.after),
            samples=len(samples),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """The server's side of a cell; None is not available.

    Requests before and after are running and waiting ones; ``foreign_peak`` is the most
    that was there beyond ours, ``waiting_share`` the part of the samples of the measured
    window at which some waited, ``prefix_hit_share`` of prompt tokens found in its cache.
    """

    runtime: str | None
    requests_before: float | None
    requests_after: float | None
    foreign_peak: float | None
    waiting_share: float | None
    prefix_hit_share: float | None
    samples: int


def _sum_present(readings: Sequence[Reading]) -> float | None:
    present = [reading.present for reading in readings if reading.present is not None]
    return sum(present) if present else None


def _foreign_peak(
    samples: Sequence[tuple[int, Reading]], ours: Sequence[OurRequests]
) -> float | None:
    beyond = [
        reading.present - ours[index].most_between(reading.asked_ns, reading.answered_ns)
        for index, reading in samples
        if reading.present is not None
    ]
    return max(0.0, *beyond) if beyond else None


def _waiting_share(
    samples: Sequence[tuple[int, Reading]], window: tuple[int, int]
) -> float | None:
    first_ns, last_ns = window
    waiting = [
        reading.waiting > 0
        for _, reading in samples
        if reading.waiting is not None and first_ns <= reading.asked_ns <= last_ns
    ]
    return sum(waiting) / len(waiting) if waiting else None


def _hit_share(before: Sequence[Reading], after: Sequence[Reading]) -> float | None:
    if len(before) != len(after):
        return None
    hits = lookups = 0.0
    for start, end in zip(before, after, strict=True):
        counts = (start.hits, end.hits, start.lookups, end.lookups)
        if any(count is None for count in counts):
            return None
        hits += (end.hits or 0.0) - (start.hits or 0.0)
        lookups += (end.lookups or 0.0) - (start.lookups or 0.0)
    return hits / lookups if lookups > 0 else None
