"""Is the server ours alone? Its own metrics before, during and after a cell."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from deploy_templates.plan import AnswerField
from flows.bench.endpoint import root_of
from flows.bench.http import get
from flows.collect.known import known_metrics
from flows.collect.reading import Reading
from flows.collect.sampler import Sampler, pause_s
from flows.collect.shares import completed, share_counts
from flows.collect.source import Clock, Fetch, Fetched, Source, find_source
from flows.errors import InfrastructureError
from flows.load.plan import Endpoint

_DRAIN_S: Final = 5.0  # how long a server may take to be seen empty
_POLL_S: Final = 0.1
_TIMEOUT_S: Final = 5.0
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


def fetcher(endpoint: Endpoint) -> Fetch:
    """GET of a path of the endpoint's server, with the endpoint's headers."""
    root = root_of(endpoint.url)

    def fetch(path: str) -> Fetched | None:
        try:
            answer = get(root + path, endpoint, _TIMEOUT_S)
        except InfrastructureError:
            return None
        return Fetched(status=answer.status, body=answer.body, headers=answer.headers)

    return fetch


@dataclass(slots=True)
class Watch:
    """Reads the metrics of all endpoints that have some; unparsed while the load runs."""

    samplers: dict[int, Sampler]
    _started_s: float = 0.0

    @classmethod
    def over(
        cls,
        endpoints: Sequence[Endpoint],
        launched: Source | None = None,
        *,
        clock: Clock = time.monotonic_ns,
    ) -> Watch:
        """A watch over those endpoints that show metrics; the rest stays unknown.

        ``launched`` is the source of servers that were started for this cell; ``clock`` the
        one by which the load's requests are stamped.
        """
        known = () if launched is not None else known_metrics()
        samplers = {}
        for index, endpoint in enumerate(endpoints):
            fetch = fetcher(endpoint)
            source = launched or find_source(fetch, known)
            if source is not None:
                samplers[index] = Sampler(source=source, fetch=fetch, clock=clock)
        return cls(samplers)

    @property
    def answer_fields(self) -> dict[int, Mapping[str, AnswerField]]:
        """What the answers of each endpoint may say of themselves."""
        return {i: one.source.metrics.answers for i, one in self.samplers.items()}

    def settle_before(self) -> None:
        """Wait, not for long, until the servers are seen empty, and keep the readings."""
        for index, reading in self._settled().items():
            self.samplers[index].before = reading
        self._started_s = time.monotonic()

    def settle_after(self) -> None:
        """The same once the load has ended."""
        for index, reading in self._settled().items():
            self.samplers[index].after = reading

    def sample(self) -> float:
        """Keep each page as it is; returns after how many seconds to come again."""
        for sampler in self.samplers.values():
            sampler.sample()
        return pause_s(time.monotonic() - self._started_s)

    def _settled(self) -> dict[int, Reading | None]:
        until_s = time.monotonic() + _DRAIN_S
        while True:
            readings = {index: sampler.look() for index, sampler in self.samplers.items()}
            present = [reading.present for reading in readings.values() if reading is not None]
            if not any(present) or time.monotonic() > until_s:
                return readings
            time.sleep(_POLL_S)

    def account(self, ours: Sequence[OurRequests], window: tuple[int, int]) -> Account:
        """What the readings say beside our requests, given by endpoint."""
        samplers = self.samplers
        samples = [(i, reading) for i in samplers for reading in samplers[i].readings()]
        return Account(
            runtime=next((one.source.runtime for one in samplers.values()), None),
            requests_before=_sum_present([one.before for one in samplers.values()]),
            requests_after=_sum_present([one.after for one in samplers.values()]),
            foreign_peak=_foreign_peak(samples, ours),
            waiting_share=_waiting_share(samples, window),
            prefix_hit_share=_hit_share(list(samplers.values())),
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


def _sum_present(readings: Sequence[Reading | None]) -> float | None:
    present = [reading.present for reading in readings if reading is not None]
    known = [requests for requests in present if requests is not None]
    return sum(known) if known else None


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


def _hit_share(samplers: Sequence[Sampler]) -> float | None:
    """Of all servers together; None where one of them does not count."""
    hits = lookups = 0.0
    for sampler in samplers:
        span = sampler.span()
        gains = {} if span is None else span.gains(sampler.source.metrics.series)
        counts = share_counts(completed(gains), "prefix_hits")
        if counts is None:
            return None
        hits, lookups = hits + counts[0], lookups + counts[1]
    return hits / lookups if lookups > 0 else None
