"""How long requests waited in the server: the best that its release offers.

In this order: what each answer says of itself; the histogram, with its resolution; the
client's time to first token less the server's prompt time, an estimate from above; and for
the mean alone Little's law, waiting requests = rate x mean wait.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from catalog.quantity import Basis
from flows.collect.client import ClientSide
from flows.collect.figure import Figure, Found, Unavailable, absent
from flows.collect.gauges import Course
from flows.collect.histogram import Histogram
from reports.columns import Reals
from reports.stats.quantiles import percentile_bounds, percentiles

PERCENT: Final = 95.0
LEVEL: Final = 0.95
NO_TRAFFIC: Final = Unavailable(reason="not available: no request was counted")


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """What one server counted of waiting: histograms, or seconds and requests.

    ``times`` were counted from the measured window's start on, ``whole`` over the whole cell;
    ``from_idle``: the former began when nothing was on its way, so that its sum is exact.
    """

    times: Histogram | Unavailable | None
    whole: Histogram | Unavailable | None
    from_idle: bool
    seconds: float | Unavailable | None
    requests: float | Unavailable | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What the servers of a cell offer about waiting.

    ``waiting`` is the gauge's course in the window, over all servers; ``series`` the name
    of a histogram that the release has but the page lacks.
    """

    basis: Basis
    client: ClientSide
    servers: tuple[Waits, ...]
    waiting: Course | None
    series: str | None


def queue_time_p95(evidence: Evidence) -> Found:
    """The 95th percentile of the wait in the server, or limits, or why there is neither."""
    return _first(evidence, (_answered_p95, _bracketed, _remaining_p95))


def queue_time_mean(evidence: Evidence) -> Found:
    """The mean wait in the server; by Little's law where the release offers no time."""
    ways = (_answered_mean, _counted_mean, _summed_mean, _remaining_mean, _by_little)
    return _first(evidence, ways)


def _first(evidence: Evidence, ways: Sequence[Callable[[Evidence], Found | None]]) -> Found:
    """The first figure; without one the first reason."""
    reason: Found | None = None
    for way in ways:
        found = way(evidence)
        if isinstance(found, Figure):
            return found
        reason = reason or found
    return reason or absent(evidence.series)


def _answered_p95(evidence: Evidence) -> Found | None:
    values = evidence.client.queue_times_s
    return _percentile(evidence, values, "nearest rank of what each answer said of its wait")


def _answered_mean(evidence: Evidence) -> Found | None:
    values = evidence.client.queue_times_s
    return _mean(evidence, values, "mean of what each answer said of its wait")


def _remaining_p95(evidence: Evidence) -> Found | None:
    values = evidence.client.remainders_s
    return _percentile(evidence, values, f"nearest rank of {_REMAINDER}", is_estimate=True)


def _remaining_mean(evidence: Evidence) -> Found | None:
    values = evidence.client.remainders_s
    return _mean(evidence, values, f"mean of {_REMAINDER}", is_estimate=True)


_REMAINDER: Final = (
    "the client's time to first token less the server's prompt time: an estimate from above, "
    "network and HTTP among it"
)


def _percentile(
    evidence: Evidence, values: Reals, method: str, *, is_estimate: bool = False
) -> Found | None:
    if not len(values):
        return None
    bounds = percentile_bounds(values, PERCENT, level=LEVEL)
    high = bounds.high
    return Figure(
        unit="s",
        basis=evidence.basis,
        method=method,
        n=len(values),
        value=percentiles(values, [PERCENT])[0],
        low=None if is_estimate else bounds.low,
        high=None if is_estimate or high is None or math.isinf(high) else high,
        level=None if is_estimate else LEVEL,
        is_estimate=is_estimate,
    )


def _mean(
    evidence: Evidence, values: Reals, method: str, *, is_estimate: bool = False
) -> Found | None:
    if not len(values):
        return None
    return Figure(
        unit="s",
        basis=evidence.basis,
        method=method,
        n=len(values),
        value=float(np.mean(values)),
        is_estimate=is_estimate,
    )


def _together(
    parts: Sequence[Histogram | Unavailable | None],
) -> Histogram | Unavailable | None:
    """All servers' counts as one; None where one server does not count."""
    whole: Histogram | None = None
    for part in parts:
        if not isinstance(part, Histogram):
            return part
        whole = part if whole is None else whole.plus(part)
        if whole is None:
            return None
    return whole


def _bracketed(evidence: Evidence) -> Found | None:
    times = _together([server.times for server in evidence.servers])
    whole = _together([server.whole for server in evidence.servers])
    if not isinstance(times, Histogram):
        return times
    exact = all(server.from_idle for server in evidence.servers)
    at_most = whole.total if isinstance(whole, Histogram) else None
    return bracket_figure(evidence.basis, times, PERCENT, exact=exact, at_most=at_most)


def bracket_figure(
    basis: Basis, times: Histogram, percent: float, *, exact: bool, at_most: float | None
) -> Found:
    """A percentile between the edges of its bucket, or closer where the sum says so.

    ``exact``: counts and sum are of the same times; else ``at_most`` bounds the sum.
    """
    if not times.n:
        return NO_TRAFFIC
    bracket = times.percentile(
        percent,
        at_least=times.total if exact else None,
        at_most=times.total if exact else at_most,
    )
    return Figure(
        unit="s",
        basis=basis,
        method=(
            f"p{percent:g} is between these limits: buckets of the server's histogram and "
            "their sum, difference of two readings, nothing interpolated"
        ),
        n=times.n,
        low=bracket.low,
        high=None if math.isinf(bracket.high) else bracket.high,
    )


def _counted_mean(evidence: Evidence) -> Found | None:
    times = _together([server.times for server in evidence.servers])
    if not isinstance(times, Histogram) or times.total is None:
        return times if isinstance(times, Unavailable) else None
    method = "sum over count of the server's histogram, difference of two readings"
    return _ratio(evidence, times.total, times.n, method)


def _summed_mean(evidence: Evidence) -> Found | None:
    seconds = [server.seconds for server in evidence.servers]
    requests = [server.requests for server in evidence.servers]
    known_s = [value for value in seconds if isinstance(value, float)]
    known = [value for value in requests if isinstance(value, float)]
    if not known or len(known) < len(requests) or len(known_s) < len(seconds):
        return None
    method = "seconds waited over requests, both counted by the server between two readings"
    return _ratio(evidence, sum(known_s), round(sum(known)), method)


def _ratio(evidence: Evidence, total_s: float, n: int, method: str) -> Found:
    if not n:
        return NO_TRAFFIC
    return Figure(unit="s", basis=evidence.basis, method=method, n=n, value=total_s / n)


def _by_little(evidence: Evidence) -> Found | None:
    waiting, rate_per_s = evidence.waiting, evidence.client.rate_per_s
    if waiting is None or not rate_per_s:
        return None
    return Figure(
        unit="s",
        basis=evidence.basis,
        method=(
            "estimate by Little's law: mean of the sampled waiting gauge over the rate at "
            "which requests were sent in the window"
        ),
        n=waiting.n,
        value=waiting.mean / rate_per_s,
        is_estimate=True,
    )
