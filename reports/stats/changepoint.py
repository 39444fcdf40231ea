"""Where a series of comparable runs changed its level, with controlled false alarms.

Circular binary segmentation (Olshen and others, Biostatistics 5 (2004) 557-572) on ranks:
of all stretches of the series, one may differ most from the rest, be it at an end (the
level changed) or within (it changed and came back). That difference is held against the
largest one in random orders of the same runs, so that a series without a change raises an
alarm with probability `alpha` whatever its distribution, outliers included.
Size and interval of a change (`reports.stats.shift`) take its position as given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import exp
from typing import Final

import numpy as np
from scipy.stats import rankdata

from reports.columns import Ints, Reals
from reports.stats.shift import shift

MIN_RUNS: Final = 8  # fewer cannot reach 5%
MIN_SIDE: Final = 3  # a single odd run is no change
METHOD: Final = "circular segmentation of ranks against random orders; Hodges-Lehmann ratio"
_ORDERS: Final = 1999
_SAME: Final = 1e-9  # rounding of sums of ranks


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangePoint:
    """A change of level before run `position` (from 0).

    `ratio` is the level until the next change over that since the last one, with two-sided
    limits at `level`; None where the runs on both sides are too few for limits.
    """

    position: int
    ratio: float
    low: float | None
    high: float | None
    level: float
    p_value: float
    method: str = METHOD


def change_points(
    values: Sequence[float | None],
    rng: np.random.Generator,
    *,
    alpha: float = 0.05,
    level: float = 0.95,
) -> list[ChangePoint] | None:
    """Return the changes of a series in time order; None for fewer than eight runs.

    Parameters
    ----------
    values
        Positive, one per run in time order; infinity is a percentile among the failures,
        a run without a value (None) is passed over.
    rng
        Draws the random orders.
    alpha
        Probability of any alarm in a series without a change.
    """
    seen = np.array([place for place, value in enumerate(values) if value is not None])
    if len(seen) < MIN_RUNS:
        return None
    logs = _logs([value for value in values if value is not None])
    steps = sorted(_steps(logs, 0, len(logs), rng, alpha))
    edges = [0, *(place for place, _ in steps), len(logs)]
    found = []
    for (place, p_value), before, after in zip(steps, edges[:-2], edges[2:], strict=True):
        moved = shift(logs[before:place], logs[place:after], level)
        found.append(
            ChangePoint(
                position=int(seen[place]),
                ratio=exp(moved.middle),
                low=None if moved.low is None else exp(moved.low),
                high=None if moved.high is None else exp(moved.high),
                level=level,
                p_value=p_value,
            )
        )
    return found


def _logs(values: Sequence[float]) -> Reals:
    numbers = np.array(values, dtype=np.float64)
    if not (numbers > 0).all():
        raise ValueError("a value of the series is not positive")
    return np.log(numbers)


def _steps(
    logs: Reals, begin: int, end: int, rng: np.random.Generator, alpha: float
) -> list[tuple[int, float]]:
    """Return places and p values of the steps between two places, in no order."""
    if end - begin < MIN_RUNS:
        return []
    ranks = rankdata(logs[begin:end])
    height, first, last = _stretch(ranks[None, :])
    orders = rng.permuted(np.tile(ranks, (_ORDERS, 1)), axis=1)
    as_high = int((_stretch(orders)[0] >= height[0] - _SAME).sum())
    p_value = (1 + as_high) / (1 + _ORDERS)
    if p_value > alpha:
        return []
    places = _sharp_ends(ranks, int(first[0]), int(last[0]), rng, alpha)
    edges = [begin, *(begin + place for place in places), end]
    # Below a true change the alarms of all parts together keep to the same probability.
    deeper = [_steps(logs, *part, rng, alpha / len(edges[1:])) for part in pairwise(edges)]
    return [(place, p_value) for place in edges[1:-1]] + [
        step for part in deeper for step in part
    ]


def _stretch(ranks: Reals) -> tuple[Reals, Ints, Ints]:
    """Return, of each row, height and ends of the stretch that differs most from the rest."""
    rows, count = ranks.shape
    sums = np.zeros((rows, count + 1))
    np.cumsum(ranks - ranks.mean(-1, keepdims=True), axis=-1, out=sums[:, 1:])
    heights = np.zeros(rows)
    firsts, lasts = np.zeros(rows, dtype=np.int64), np.full(rows, count)
    for first in (0, *range(MIN_SIDE, count - MIN_SIDE + 1)):
        ends = np.arange(first + MIN_SIDE, count - MIN_SIDE + 1)
        ends = np.append(ends, count) if first else ends
        length = ends - first
        seen = np.abs(sums[:, ends] - sums[:, [first]]) / np.sqrt(length * (count - length))
        best = seen.argmax(-1)
        height = seen[np.arange(rows), best]
        is_higher = height > heights + _SAME
        heights = np.where(is_higher, height, heights)
        firsts = np.where(is_higher, first, firsts)
        lasts = np.where(is_higher, ends[best], lasts)
    return heights, firsts, lasts


def _sharp_ends(
    ranks: Reals, first: int, last: int, rng: np.random.Generator, alpha: float
) -> list[int]:
    """Return the ends of a stretch at which the level changes; the sharper one at least."""
    ends = [place for place in (first, last) if 0 < place < len(ranks)]
    if len(ends) < 2:
        return ends
    p_values = [
        _step_p(ranks[:first], ranks[first:last], rng),
        _step_p(ranks[first:last], ranks[last:], rng),
    ]
    smallest = min(p_values)
    return [
        place
        for place, p_value in zip(ends, p_values, strict=True)
        if p_value <= max(alpha, smallest)
    ]


def _step_p(before: Reals, after: Reals, rng: np.random.Generator) -> float:
    """Return the probability of so large a difference of mean ranks in random orders."""
    both = np.concatenate((before, after))
    orders = rng.permuted(np.tile(both, (_ORDERS, 1)), axis=1)
    middle = both.mean() * len(before)
    away = np.abs(orders[:, : len(before)].sum(-1) - middle)
    return (1 + int((away >= abs(before.sum() - middle) - _SAME).sum())) / (1 + _ORDERS)
