"""Histograms of times: their difference between two readings, and what it can tell.

A bucket tells how many times lie in it, not where. Their sum tells more: if k of them are x
or more, it is k·x at least.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Final

INFINITY: Final = math.inf
_ROUNDING: Final = 1e-9  # share of a sum by which adding up may have changed it
_CLOSE: Final = 1e-12  # the same of whole counts times edges


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """Limits of a percentile, both certain; ``high`` may be infinite."""

    low: float
    high: float

    @property
    def resolution(self) -> float:
        """How far apart the limits are."""
        return self.high - self.low


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """Counts by bucket: above the edge before, up to and with its own; the last is infinite.

    ``total`` is the sum of what was counted, None where that is unknown.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    total: float | None = None

    @property
    def n(self) -> int:
        """How many times were counted."""
        return sum(self.counts)

    @property
    def mean(self) -> float | None:
        """Mean of what was counted; None where nothing was, or its sum is unknown."""
        return self.total / self.n if self.n and self.total is not None else None

    def scaled(self, factor: float) -> Histogram:
        """The same in another unit."""
        return replace(
            self,
            edges=tuple(edge * factor for edge in self.edges),
            total=None if self.total is None else self.total * factor,
        )

    def plus(self, other: Histogram) -> Histogram | None:
        """Both together; None where their buckets differ."""
        if self.edges != other.edges:
            return None
        return Histogram(
            edges=self.edges,
            counts=tuple(a + b for a, b in zip(self.counts, other.counts, strict=True)),
            total=_sum(self.total, other.total),
        )

    def since(self, earlier: Histogram) -> Histogram | None:
        """What was counted after ``earlier``; None if a count fell or the buckets differ."""
        if self.edges != earlier.edges:
            return None
        counts = tuple(a - b for a, b in zip(self.counts, earlier.counts, strict=True))
        if min(counts) < 0:
            return None
        total = _sum(self.total, None if earlier.total is None else -earlier.total)
        return Histogram(edges=self.edges, counts=counts, total=total)

    def percentile(
        self,
        percent: float,
        *,
        at_least: float | None = None,
        at_most: float | None = None,
    ) -> Bracket:
        """Limits of a percentile by nearest rank; no place within a bucket is guessed.

        What the sum of all times is at least and at most narrows them. Nothing counted:
        0 to infinity.
        """
        from reports.stats.quantiles import (  # noqa: PLC0415  (not before the first send)
            nearest_rank,
        )

        if not self.n:
            return Bracket(low=0.0, high=INFINITY)
        rank = nearest_rank(self.n, percent)
        seen = [0, *accumulate(self.counts)]
        index = bisect_left(seen, rank) - 1
        rank -= seen[index]
        low = max(0.0, self.edges[index - 1]) if index else 0.0
        high = max(0.0, self.edges[index])
        if at_most is not None:
            high = min(high, low + self._above_low(at_most) / (self.counts[index] - rank + 1))
        if at_least is not None and math.isfinite(self.edges[index]):
            low = max(low, min(high, self.edges[index] - self._below_high(at_least) / rank))
        return Bracket(low=low, high=high)

    def _above_low(self, total: float) -> float:
        """By how much the times exceed the low edges of their buckets, together."""
        lows = (0.0, *(max(0.0, edge) for edge in self.edges[:-1]))
        rest = total * (1 + _ROUNDING) - _dot(lows, self.counts)
        return rest if rest >= 0 else INFINITY  # such a sum belongs to other counts

    def _below_high(self, total: float) -> float:
        """By how much the times fall short of the high edges of their buckets, together."""
        edges = _dot(self.edges, self.counts) * (
            1 + _CLOSE
        )  # else times far below them are lost
        rest = edges - total * (1 - _ROUNDING)
        return rest if rest >= 0 else INFINITY


def histogram_of(cumulative: Mapping[float, float], total: float | None) -> Histogram | None:
    """The histogram of cumulative counts by upper edge; None if it is not a whole one."""
    edges = tuple(sorted(cumulative))
    if not edges or edges[-1] != INFINITY:
        return None
    seen = [0, *(round(cumulative[edge]) for edge in edges)]
    counts = tuple(after - before for before, after in pairwise(seen))
    if min(counts) < 0:
        return None
    return Histogram(edges=edges, counts=counts, total=total)


def _sum(one: float | None, other: float | None) -> float | None:
    return None if one is None or other is None else one + other


def _dot(edges: tuple[float, ...], counts: tuple[int, ...]) -> float:
    return math.fsum(edge * count for edge, count in zip(edges, counts, strict=True) if count)
