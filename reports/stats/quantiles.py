"""Percentiles by nearest rank and their distribution-free bounds.

The k-th smallest of n independent values is above the q-quantile with the probability that
a binomial (n, q) count stays below k (David and Nagaraja, Order Statistics, 3rd ed., 7.1).
A one-sided 95% upper bound therefore exists from n = 59 for p95 and n = 299 for p99 on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.special import bdtr

from reports.columns import Flat, Reals

Percent = float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """One-sided limits of a percentile, each at its level alone; None: too few values."""

    low: float | None
    high: float | None


def nearest_rank(count: int, percent: Percent) -> int:
    """Return the rank (from 1) of a percentile among `count` values: ceil(count * share)."""
    return max(1, ceil(count * Fraction(str(percent)) / 100))


def percentiles(
    values: Reals | Flat, percents: Sequence[Percent], infinite: int = 0
) -> list[float | None]:
    """Return percentiles by nearest rank of the values and of `infinite` failures above all.

    None where the rank falls among the failures, or where there are no values at all.
    """
    count = len(values) + infinite
    if count == 0:
        return [None] * len(percents)
    ranks = [nearest_rank(count, percent) for percent in percents]
    return _at_ranks(values, ranks)


def _at_ranks(values: Reals | Flat, ranks: Sequence[int]) -> list[float | None]:
    inside = sorted({rank - 1 for rank in ranks if rank <= len(values)})
    ordered: NDArray[np.floating] = np.partition(values, inside) if inside else values
    return [float(ordered[rank - 1]) if rank <= len(values) else None for rank in ranks]


def bound_ranks(
    count: int, percent: Percent, level: float = 0.95
) -> tuple[int | None, int | None]:
    """Return the ranks (from 1) whose values bound the percentile from below and above."""
    share = float(Fraction(str(percent)) / 100)

    def chance(below: int) -> float:
        """Of `below` values or fewer under the percentile: it rises with `below`."""
        return float(bdtr(below, count, share))

    low = bisect_right(range(count), 1 - level, key=chance)
    high = bisect_left(range(count), level, key=chance)
    return low or None, high + 1 if high < count else None


def percentile_bounds(
    values: Reals | Flat, percent: Percent, infinite: int = 0, level: float = 0.95
) -> Bounds:
    """Return the one-sided limits of a percentile; infinity where a rank is a failure's."""
    ranks = bound_ranks(len(values) + infinite, percent, level)
    found = iter(_at_ranks(values, [rank for rank in ranks if rank is not None]))
    low, high = (None if rank is None else _or_infinite(next(found)) for rank in ranks)
    return Bounds(low=low, high=high)


def _or_infinite(value: float | None) -> float:
    return float("inf") if value is None else value
