"""The contract's clauses, each judged apart by one-sided 95% limits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal

from reports.columns import Reals
from reports.stats.quantiles import Bounds, percentile_bounds, percentiles

ClauseVerdict = Literal["holds", "misses", "inconclusive", "no such clause"]

LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Clause:
    """One clause of the contract: what was measured against its limit, and the verdict.

    `value`, `low` and `high` (one-sided 95% limits) are None where they cannot be told or
    lie among the failures; `count` is the number of requests they rest on. Latencies are
    milliseconds, goodput is a share.
    """

    statistic: str
    limit: float | None
    value: float | None
    low: float | None
    high: float | None
    count: int
    verdict: ClauseVerdict


def percentile_clause(
    name: str, values: Reals, failures: int, limit_ms: float | None, percent: float
) -> Clause:
    """Return the clause on a percentile over requests, failures counted as infinite."""
    bounds = percentile_bounds(values, percent, failures, LEVEL)
    return upper_limit_clause(
        f"p{percent:g} {name}",
        limit_ms,
        percentiles(values, [percent], failures)[0],
        bounds,
        len(values) + failures,
    )


def upper_limit_clause(
    statistic: str, limit: float | None, value: float | None, bounds: Bounds, count: int
) -> Clause:
    """Return the clause that a statistic stays at or below a limit."""
    verdict: ClauseVerdict = "inconclusive"
    if limit is None:
        verdict = "no such clause"
    elif bounds.high is not None and bounds.high <= limit:
        verdict = "holds"
    elif bounds.low is not None and bounds.low > limit:
        verdict = "misses"
    return Clause(
        statistic=statistic,
        limit=limit,
        value=value,
        low=bounds.low,
        high=bounds.high,
        count=count,
        verdict=verdict,
    )


def unseen_clause(name: str, limit: float | None, count: int) -> Clause:
    """Return the clause on a statistic that cannot be observed in this cell."""
    return Clause(
        statistic=name,
        limit=limit,
        value=None,
        low=None,
        high=None,
        count=count,
        verdict="no such clause" if limit is None else "inconclusive",
    )
