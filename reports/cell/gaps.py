"""The clause on a percentile over all gaps of a cell."""

from __future__ import annotations

from math import ceil, inf
from typing import Final

import numpy as np

from reports.cell.clauses import LEVEL, Clause, upper_limit_clause
from reports.columns import Flat, RequestColumns
from reports.stats.clusters import effective_trials
from reports.stats.quantiles import Bounds, bound_ranks, percentiles
from reports.stats.ragged import sums

_BATCHES: Final = 10


def infinite_gaps_per_failure(measured: RequestColumns) -> int:
    """Return how many gaps a failure owes: the successes' median, else as asked."""
    ok = measured.outcome == "ok"
    gaps = np.diff(measured.gap_offsets)[ok] if ok.any() else measured.output_tokens_asked - 1
    return int(np.median(gaps)) if len(gaps) else 0


def gap_clause(measured: RequestColumns, limit_ms: float | None, percent: float) -> Clause:
    """Return the clause on a percentile over all gaps, those of failures infinite.

    Gaps of one moment share that moment's batch and its stalls. Their limits are those of
    as many independent gaps as ten batches of consecutive requests show them to be worth
    (Woodruff, JASA 47 (1952) 635-646). Simulated with 10 to 40 stalls that whole groups of
    requests share, a cell on the limit is called held in 4 to 8 and missed in 7 to 9 of
    100; with independent gaps in 4 and 7.
    """
    ok = measured.outcome == "ok"
    gap_us = measured.where(ok).gap_us
    owed = infinite_gaps_per_failure(measured)
    infinite = owed * int((~ok).sum())
    value_us = percentiles(gap_us, [percent], infinite)[0]
    worth = _worth(measured, inf if value_us is None else value_us, owed)
    low, high = (
        _limit_ms(gap_us, infinite, rank, worth) for rank in bound_ranks(worth, percent, LEVEL)
    )
    return upper_limit_clause(
        f"p{percent:g} gap",
        limit_ms,
        None if value_us is None else value_us / 1000,
        Bounds(low=low, high=high),
        len(measured),
    )


def _worth(measured: RequestColumns, value_us: float, owed: int) -> int:
    """Independent gaps that the cell's gaps are worth for the share beyond a value."""
    if not len(measured):
        return 0
    ok = measured.outcome == "ok"
    beyond = sums(measured.gap_us > np.float32(value_us), measured.gap_offsets)
    counts = np.diff(measured.gap_offsets)
    order = np.argsort(measured.scheduled_ns, kind="stable")
    first = np.unique(np.linspace(0, len(order), _BATCHES, endpoint=False).astype(np.int64))
    return effective_trials(
        np.add.reduceat(np.where(ok, beyond, owed)[order], first),
        np.add.reduceat(np.where(ok, counts, owed)[order].astype(np.float64), first),
        len(measured),
    )


def _limit_ms(gap_us: Flat, infinite: int, rank: int | None, worth: int) -> float | None:
    """The gap at the place that a rank among the independent ones has among all."""
    if rank is None:
        return None
    place = ceil(rank / worth * (len(gap_us) + infinite)) - 1
    if place >= len(gap_us):
        return inf
    return float(np.partition(gap_us, place)[place]) / 1000
