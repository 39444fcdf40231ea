"""Whether the newest runs of a series lie on another level, when they are few.

The search of ``reports.stats.changepoint`` looks at every stretch and at ranks alone, so that
three new runs after eight can never reach 5% there. Here one question is asked: does the mean
of the last three, four or five logarithms differ from the mean of those before? The largest
of these differences, each by its standard error, is held against that of random orders of the
same runs (a permutation test, exact whatever the distribution: Fisher; Pitman, J. R. Statist.
Soc. Suppl. 4 (1937) 119-130). Outliers cost power, never truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp
from typing import Final

import numpy as np

from reports.columns import Ints, Reals
from reports.stats.changepoint import MIN_RUNS, MIN_SIDE, ChangePoint
from reports.stats.shift import shift

METHOD: Final = "newest runs against those before in random orders; Hodges-Lehmann ratio"
NEWEST: Final = (MIN_SIDE, 4, 5)
_ORDERS: Final = 3999
_SAME: Final = 1e-9  # rounding of sums


def latest_step(
    values: Sequence[float | None],
    rng: np.random.Generator,
    *,
    alpha: float,
    level: float = 0.95,
) -> ChangePoint | None:
    """Return the change of level with which the newest runs began; None where none is shown.

    Parameters
    ----------
    values
        Positive, one per run in time order, all of one level but perhaps the newest; infinity
        is a percentile among the failures, a run without a value (None) is passed over.
    rng
        Draws the random orders.
    alpha
        Probability of an alarm in a series without a change.
    """
    seen = [place for place, value in enumerate(values) if value is not None]
    if len(seen) < MIN_RUNS:
        return None
    logs = np.log(np.array([value for value in values if value is not None]))
    finite = _within_numbers(logs)
    heights, newest = _heights(finite[None, :])
    orders = rng.permuted(np.tile(finite, (_ORDERS, 1)), axis=1)
    as_high = int((_heights(orders)[0] >= heights[0] - _SAME).sum())
    p_value = (1 + as_high) / (1 + _ORDERS)
    if p_value > alpha:
        return None
    place = len(logs) - int(newest[0])
    moved = shift(logs[:place], logs[place:], level)
    return ChangePoint(
        position=seen[place],
        ratio=exp(moved.middle),
        low=None if moved.low is None else exp(moved.low),
        high=None if moved.high is None else exp(moved.high),
        level=level,
        p_value=p_value,
        method=METHOD,
    )


def _within_numbers(logs: Reals) -> Reals:
    """Infinities just above all others: far enough to count, near enough to have a mean."""
    known = logs[np.isfinite(logs)]
    span = float(np.ptp(known)) if len(known) else 0.0
    above = (float(known.max()) if len(known) else 0.0) + span + 1.0
    return np.where(np.isfinite(logs), logs, above)


def _heights(rows: Reals) -> tuple[Reals, Ints]:
    """Return, of each row, the largest standardised difference and how many runs it is of."""
    count = rows.shape[1]
    sums = rows - rows.mean(-1, keepdims=True)
    sizes = np.array([size for size in NEWEST if count - size >= MIN_SIDE])
    seen = np.stack(
        [np.abs(sums[:, -size:].sum(-1)) / np.sqrt(size * (count - size)) for size in sizes],
        axis=-1,
    )
    return seen.max(-1), sizes[seen.argmax(-1)]
