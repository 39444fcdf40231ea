"""Trend of a short series: Mann and Kendall's test with exact probabilities, Sen's slope.

Mann, Econometrica 13 (1945) 245-259; Sen, JASA 63 (1968) 1379-1389.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, floor, sqrt

import numpy as np

from reports.columns import Reals


@dataclass(frozen=True, slots=True, kw_only=True)
class Trend:
    """Two-sided probability under "no trend", and the fitted change over the whole series.

    `change` is relative to the series' median: 0.2 is a rise by a fifth from end to end.
    """

    p_value: float
    change: float


def trend(values: Reals) -> Trend:
    """Return the Mann-Kendall trend of equally spaced values (at least three)."""
    later, earlier = _pairs(values)
    score = int(np.sign(later - earlier).sum())
    tied = len(np.unique(values)) < len(values)
    p_value = _p_with_ties(values, score) if tied else _p_exact(len(values), score)
    return Trend(p_value=p_value, change=_change(values))


def _pairs(values: Reals) -> tuple[Reals, Reals]:
    first, second = np.triu_indices(len(values), 1)
    return values[second], values[first]


def _p_exact(count: int, score: int) -> float:
    """Share of all orders whose score is at least as far from 0, by counting inversions."""
    orders = np.ones(1)
    for size in range(2, count + 1):
        orders = np.convolve(orders, np.full(size, 1 / size))
    inversions = floor((count * (count - 1) // 2 - abs(score)) / 2)
    return min(1.0, 2 * float(orders[: inversions + 1].sum()))


def _p_with_ties(values: Reals, score: int) -> float:
    """Normal approximation with the variance for ties and a continuity correction."""
    count = len(values)
    ties = np.unique(values, return_counts=True)[1]
    variance = _weight(count) - sum(_weight(int(tie)) for tie in ties)
    if variance <= 0:
        return 1.0
    return erfc(max(abs(score) - 1, 0) / sqrt(variance) / sqrt(2))


def _weight(count: int) -> float:
    return count * (count - 1) * (2 * count + 5) / 18


def _change(values: Reals) -> float:
    later, earlier = _pairs(values)
    first, second = np.triu_indices(len(values), 1)
    rise = float(np.median((later - earlier) / (second - first))) * (len(values) - 1)
    level = abs(float(np.median(values)))
    return rise / level if level > 0 else 0.0
