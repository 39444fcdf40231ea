"""Requests in flight as a function of time, from when each began and ended."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reports.columns import Ints, Reals


@dataclass(frozen=True, slots=True, kw_only=True)
class Little:
    """Both sides of Little's law, L = rate x residence, over a span that begins and ends idle.

    `mean_in_flight` integrates the count of requests over time, `rate_times_residence`
    multiplies what the requests say of themselves.
    """

    mean_in_flight: float
    rate_times_residence: float

    @property
    def deviation(self) -> float:
        """Relative difference of the two sides; 0 where the law holds."""
        larger = max(self.mean_in_flight, self.rate_times_residence)
        difference = abs(self.mean_in_flight - self.rate_times_residence)
        return difference / larger if larger > 0 else 0.0


def overlap(begin_ns: Ints, end_ns: Ints, from_ns: float, to_ns: float) -> Reals:
    """Return for how many nanoseconds each span lay inside the window."""
    inside: Reals = np.minimum(end_ns, to_ns) - np.maximum(begin_ns, from_ns).astype(np.float64)
    return np.maximum(inside, 0.0)


def mean_in_flight(begin_ns: Ints, end_ns: Ints, from_ns: float, to_ns: float) -> float:
    """Return the time average of the number of spans that cover an instant of the window."""
    if to_ns <= from_ns:
        return 0.0
    return float(overlap(begin_ns, end_ns, from_ns, to_ns).sum()) / (to_ns - from_ns)


def block_means(begin_ns: Ints, end_ns: Ints, edges_ns: Reals) -> Reals:
    """Return the mean number in flight in each block between consecutive edges."""
    return np.array(
        [
            mean_in_flight(begin_ns, end_ns, edges_ns[block], edges_ns[block + 1])
            for block in range(len(edges_ns) - 1)
        ]
    )


def steps(begin_ns: Ints, end_ns: Ints) -> tuple[Ints, Ints]:
    """Return the times of change and the number in flight from each of them on.

    A request that ends at the instant at which another begins is gone before.
    """
    times = np.concatenate((end_ns, begin_ns))
    changes = np.repeat([-1, 1], [len(end_ns), len(begin_ns)])
    order = np.argsort(times, kind="stable")
    return times[order], np.cumsum(changes[order])


def peak_in_flight(begin_ns: Ints, end_ns: Ints, from_ns: float, to_ns: float) -> int:
    """Return the largest number in flight at any instant of the window."""
    times, counts = steps(begin_ns, end_ns)
    at_start = np.searchsorted(times, from_ns, side="right")
    until = np.searchsorted(times, to_ns, side="right")
    seen = counts[max(at_start - 1, 0) : until]
    return int(seen.max(initial=0))


def littles_law(begin_ns: Ints, end_ns: Ints) -> Little | None:
    """Return both sides of Little's law over a whole run; None without requests."""
    if not len(begin_ns):
        return None
    times, counts = steps(begin_ns, end_ns)
    span_ns = float(times[-1] - times[0])
    if span_ns <= 0:
        return None
    area_ns = float((counts[:-1] * np.diff(times)).sum())
    rate = len(begin_ns) / span_ns
    residence_ns = float((end_ns - begin_ns).mean())
    return Little(mean_in_flight=area_ns / span_ns, rate_times_residence=rate * residence_ns)
