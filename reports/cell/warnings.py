"""Warnings that void nothing but that a reader of the numbers must see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from reports.cell.goodput import Goodput, verdicts_differ
from reports.cell.problems import Concern, Problem
from reports.cell.settings import CellSettings, ItlStatistic, Observed
from reports.cell.sums import FAILED
from reports.columns import RequestColumns
from reports.stats.quantiles import bound_ranks


def run_warnings(
    counts: Mapping[str, int], settings: CellSettings, observed: Observed
) -> Iterator[Problem]:
    """Whether the run was whole, warmed up and long enough."""
    measured, warmup = counts["measured"], counts["warmup"]
    if not observed.complete:
        yield Problem(
            concern=Concern.INCOMPLETE, seen=f"interrupted after {measured} measured requests"
        )
    streams = settings.concurrency if settings.is_closed else 1
    if measured and warmup < (streams or 1):
        yield Problem(
            concern=Concern.FIRST_WAVE, seen=f"{warmup} requests were discarded as warm-up"
        )
    if observed.warmup_converged is False:
        yield Problem(concern=Concern.WARMUP, seen=f"not within {warmup} requests")
    percent = settings.slo.percentile
    if measured and bound_ranks(measured, percent)[1] is None:
        yield Problem(
            concern=Concern.FEW, seen=f"{measured} measured requests: p{percent:g} has no bound"
        )


def answer_warnings(measured: RequestColumns) -> Iterator[Problem]:
    """Whether answers failed, broke off, or needed a second connection."""
    failed = [(name, int((measured.outcome == name).sum())) for name in (*FAILED, "timed_out")]
    kinds = ", ".join(f"{count} {name}" for name, count in failed if count)
    if kinds:
        yield Problem(
            concern=Concern.FAILURES,
            seen=f"{kinds} of {len(measured)} measured requests{_commonest_reason(measured)}",
        )
    truncated = int((measured.outcome == "truncated").sum())
    if truncated:
        yield Problem(
            concern=Concern.TRUNCATED,
            seen=f"{truncated} of {len(measured)} answers ended early and cleanly",
        )
    again = int(measured.reconnected.sum())
    if again:
        yield Problem(
            concern=Concern.RECONNECTED,
            seen=f"{again} of {len(measured)} requests found their connection closed",
        )


def _commonest_reason(measured: RequestColumns) -> str:
    failed = [name in FAILED for name in measured.outcome]
    reasons = Counter(measured.error[failed]).most_common(1)
    return f"; most often: {reasons[0][0]}" if reasons and reasons[0][0] else ""


def statistic_warnings(
    by_statistic: Mapping[ItlStatistic, Goodput], settings: CellSettings
) -> Iterator[Problem]:
    """Whether the goodput clause hangs on the choice of the ITL statistic."""
    target = settings.slo.goodput
    if target is not None and verdicts_differ(by_statistic, target):
        shares = ", ".join(
            f"{found.share:.1%} by {name}"
            for name, found in by_statistic.items()
            if found.share is not None
        )
        yield Problem(concern=Concern.STATISTIC, seen=shares)
