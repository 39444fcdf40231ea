"""When each request is due: absolute times in nanoseconds from the schedule's zero.

Poisson      independent exponential gaps; from k shards, k independent streams of rate/k
gamma        a renewal process in equilibrium whose gaps have CV 1/sqrt(burstiness)
constant     one request per 1/rate, the first one gap after zero

No arrival is forced at zero: the first gap is drawn like the process says. Poisson shards
are independent because independent Poisson streams add up to one; the other processes lose
their shape when independent streams are added, so that one stream is dealt out in turn.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Process = Literal["poisson", "constant", "gamma"]
Times = NDArray[np.int64]

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule:
    """Due times in ascending order, and the shard that sends each."""

    at_ns: Times
    shard: NDArray[np.int64]


def poisson_ns(rate_per_s: float, count: int, rng: np.random.Generator) -> Times:
    """The first ``count`` arrival times of a Poisson process."""
    return _nanoseconds(np.cumsum(rng.exponential(1 / rate_per_s, count)))


def gamma_ns(
    rate_per_s: float, burstiness: float, count: int, rng: np.random.Generator
) -> Times:
    """The first ``count`` arrival times of a gamma renewal process seen in equilibrium.

    ``burstiness`` is the shape of the gap's gamma distribution: below 1 burstier than
    Poisson, above 1 smoother. The first gap is what is left of a gap that zero fell into
    (longer gaps catch more zeros: shape + 1, cut at a uniform place).
    """
    scale_s = 1 / (rate_per_s * burstiness)
    first_s = rng.uniform() * rng.gamma(burstiness + 1, scale_s)
    gaps_s = rng.gamma(burstiness, scale_s, max(count - 1, 0))
    return _nanoseconds(np.cumsum(np.concatenate(([first_s], gaps_s)))[:count])


def constant_ns(rate_per_s: float, count: int) -> Times:
    """``count`` times one gap apart, the first one gap after zero."""
    return _nanoseconds(np.arange(1, count + 1) / rate_per_s)


def schedule(
    process: Process,
    rate_per_s: float,
    count: int,
    *,
    burstiness: float,
    shards: Sequence[np.random.Generator],
) -> Schedule:
    """The first ``count`` arrivals of the whole load, over as many shards as generators."""
    if process == "poisson":
        return _independent(rate_per_s, count, shards)
    if process == "gamma":
        return dealt(gamma_ns(rate_per_s, burstiness, count, shards[0]), len(shards))
    return dealt(constant_ns(rate_per_s, count), len(shards))


def dealt(at_ns: Times, shards: int) -> Schedule:
    """One stream of arrivals given to ``shards`` senders in turn."""
    return Schedule(at_ns=at_ns, shard=np.arange(len(at_ns), dtype=np.int64) % shards)


def _independent(
    rate_per_s: float, count: int, shards: Sequence[np.random.Generator]
) -> Schedule:
    """Superposition of independent Poisson streams, cut behind the ``count``-th arrival."""
    share_per_s = rate_per_s / len(shards)
    streams = [poisson_ns(share_per_s, count, rng) for rng in shards]  # any may hold all
    at_ns = np.concatenate(streams)
    shard = np.repeat(np.arange(len(shards), dtype=np.int64), count)
    order = np.argsort(at_ns, kind="stable")[:count]
    return Schedule(at_ns=at_ns[order], shard=shard[order])


def _nanoseconds(times_s: NDArray[np.float64]) -> Times:
    return np.rint(times_s * _NS_PER_S).astype(np.int64)
