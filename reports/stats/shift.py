"""The shift between two samples, without an assumption on their distribution.

The median of all differences (Hodges and Lehmann, Ann. Math. Statist. 34 (1963) 598-611);
limits by inverting the rank-sum test: the number of differences below the true shift is
distributed as the statistic of Mann and Whitney (Lehmann, Nonparametrics, 1975, 2.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from reports.columns import Reals


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """Middle and two-sided limits of a shift; limits None where the samples are too small."""

    middle: float
    low: float | None
    high: float | None


def shift(before: Reals, after: Reals, level: float = 0.95) -> Shift:
    """Return by how much `after` lies above `before`; equal infinities differ by nothing."""
    ours, theirs = np.meshgrid(after, before)
    with np.errstate(invalid="ignore"):
        differences = (ours - theirs).ravel()
    differences = np.sort(np.where(np.isnan(differences), 0.0, differences))
    dropped = _dropped(len(before), len(after), (1 - level) / 2)
    middle = float(np.median(differences))
    if dropped is None:
        return Shift(middle=middle, low=None, high=None)
    return Shift(
        middle=middle,
        low=float(differences[dropped]),
        high=float(differences[len(differences) - 1 - dropped]),
    )


def _dropped(before: int, after: int, tail: float) -> int | None:
    """Return how many differences each limit leaves out; None where none may be."""
    orders = comb(before + after, before)
    chances = np.cumsum([count / orders for count in _rank_sums(before, after)])
    inside = int(np.searchsorted(chances, tail, side="right"))
    return inside - 1 if inside else None


def _rank_sums(before: int, after: int) -> list[int]:
    """Return the number of orders with each rank sum: a Gaussian binomial coefficient."""
    counts = [1] + [0] * (before * after)
    for size in range(1, before + 1):
        for place in range(len(counts) - 1, after + size - 1, -1):
            counts[place] -= counts[place - after - size]
        for place in range(size, len(counts)):
            counts[place] += counts[place - size]
    return counts
