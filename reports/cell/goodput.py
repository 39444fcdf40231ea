"""Goodput: the share of scheduled requests that met every limit of the contract."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from reports.cell.clauses import LEVEL, Clause, ClauseVerdict
from reports.cell.latency import Latencies
from reports.cell.settings import CellSettings, ItlStatistic
from reports.columns import Flags, Reals, RequestColumns
from reports.stats.binomial import share_lower_bound, share_upper_bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """Compliant requests under one ITL statistic; None where the statistic is unseen."""

    scheduled: int
    compliant: int | None
    share: float | None
    lower_bound: float | None
    upper_bound: float | None
    tokens_share: float | None


def compliant(
    measured: RequestColumns,
    latency: Latencies,
    settings: CellSettings,
    statistic: ItlStatistic,
) -> Flags:
    """Return which measured requests meet every limit of the contract.

    An undefined ITL meets its limit only where the contract asks for one output token.
    """
    slo = settings.slo
    meets: Flags = measured.outcome == "ok"
    if slo.ttft_ms is not None:
        first_ms = latency.ttfa if slo.first == "answer" else latency.ttft
        meets = meets & (first_ms <= slo.ttft_ms)
    if slo.itl_ms is not None:
        itl_ms = latency.itl(statistic)
        undefined_meets = np.isnan(itl_ms) & (settings.output_tokens == 1)
        meets = meets & ((itl_ms <= slo.itl_ms) | undefined_meets)
    return meets


def goodput(meets: Flags, ok: Flags, tokens: Reals) -> Goodput:
    """Return the share of compliant requests with its exact limits.

    `tokens` are the output tokens of each request; `tokens_share` is the part of the
    successful requests' tokens that compliant ones delivered.
    """
    scheduled, hits = len(meets), int(meets.sum())
    delivered = float(tokens[ok].sum())
    return Goodput(
        scheduled=scheduled,
        compliant=hits,
        share=hits / scheduled if scheduled else None,
        lower_bound=share_lower_bound(hits, scheduled, LEVEL) if scheduled else None,
        upper_bound=share_upper_bound(hits, scheduled, LEVEL) if scheduled else None,
        tokens_share=float(tokens[meets].sum()) / delivered if delivered else None,
    )


def unseen_goodput(scheduled: int) -> Goodput:
    """Return the goodput under a statistic that cannot be judged in this cell."""
    return Goodput(
        scheduled=scheduled,
        compliant=None,
        share=None,
        lower_bound=None,
        upper_bound=None,
        tokens_share=None,
    )


def goodput_clause(found: Goodput, target: float | None, statistic: ItlStatistic) -> Clause:
    """Return the clause on the share of compliant requests."""
    verdict: ClauseVerdict = "inconclusive"
    if target is None:
        verdict = "no such clause"
    elif found.lower_bound is not None and found.lower_bound >= target:
        verdict = "holds"
    elif found.upper_bound is not None and found.upper_bound < target:
        verdict = "misses"
    return Clause(
        statistic=f"goodput ({statistic})",
        limit=target,
        value=found.share,
        low=found.lower_bound,
        high=found.upper_bound,
        count=found.scheduled,
        verdict=verdict,
    )


def verdicts_differ(by_statistic: Mapping[ItlStatistic, Goodput], target: float) -> bool:
    """Return whether the goodput clause comes out differently under the ITL statistics."""
    verdicts = {
        goodput_clause(found, target, statistic).verdict
        for statistic, found in by_statistic.items()
        if found.share is not None
    }
    return len(verdicts) > 1
