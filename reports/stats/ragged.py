"""Statistics of many short lists at once: the values of all lists lie behind one another."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from reports.columns import Flags, Flat, Ints, Reals
from reports.stats.quantiles import Percent, nearest_rank


def maxima(values: Flat, offsets: Ints) -> Reals:
    """Return the largest value of each list; NaN for an empty one."""
    found = np.full(len(offsets) - 1, np.nan)
    filled = np.diff(offsets) > 0
    if filled.any():
        found[filled] = np.maximum.reduceat(values, offsets[:-1][filled])
    return found


def sums(values: Flat | Flags, offsets: Ints) -> Reals:
    """Return the sum of each list; 0 for an empty one."""
    found = np.zeros(len(offsets) - 1)
    filled = np.diff(offsets) > 0
    if filled.any():
        found[filled] = np.add.reduceat(values, offsets[:-1][filled], dtype=np.float64)
    return found


def list_percentiles(values: Flat, offsets: Ints, percent: Percent) -> Reals:
    """Return each list's percentile by nearest rank; NaN for an empty one.

    Lists of one length are ordered together, as rows of a matrix.
    """
    counts = np.diff(offsets)
    found = np.full(len(counts), np.nan)
    filled = np.flatnonzero(counts)
    order = filled[np.argsort(counts[filled], kind="stable")]
    lengths, firsts = np.unique(counts[order], return_index=True)
    spans = pairwise([*firsts.tolist(), len(order)])
    for length, (first, last) in zip(lengths.tolist(), spans, strict=True):
        rows = order[first:last]
        place = nearest_rank(length, percent) - 1
        found[rows] = _row_values(values, offsets[rows], length, place)
    return found


def _row_values(values: Flat, starts: Ints, length: int, place: int) -> Reals:
    """Return the value at `place` in ascending order of each list of that length."""
    rows_at_once = max(1, 4_000_000 // length)
    found = np.empty(len(starts))
    for first in range(0, len(starts), rows_at_once):
        some = starts[first : first + rows_at_once, None]
        matrix = values[some + np.arange(length)]
        found[first : first + rows_at_once] = np.partition(matrix, place, axis=1)[:, place]
    return found
