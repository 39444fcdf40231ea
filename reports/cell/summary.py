"""The summary of one cell: statistics, problems, clauses and the verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Final

import numpy as np

from reports.cell import checks
from reports.cell.bunching import Bunching, bunching
from reports.cell.clauses import Clause, percentile_clause, unseen_clause
from reports.cell.distribution import measures
from reports.cell.document import CellSummary, Client
from reports.cell.gaps import gap_clause
from reports.cell.goodput import Goodput, compliant, goodput, goodput_clause, unseen_goodput
from reports.cell.kept import Kept, is_unseen, kept
from reports.cell.latency import Latencies, latencies, output_tokens
from reports.cell.lengths import length_problems, output_lengths, prompt_lengths
from reports.cell.problems import VERDICTS, Concern, Problem, Verdict
from reports.cell.settings import ITL_STATISTICS, CellSettings, ItlStatistic, Observed
from reports.cell.steady import Window, flights, trends, window_of
from reports.cell.sums import request_counts, sum_problems
from reports.cell.throughput import throughput, token_totals
from reports.cell.warnings import answer_warnings, run_warnings, statistic_warnings
from reports.columns import RequestColumns
from reports.stats.arrivals import arrivals
from reports.stats.flight import Little, littles_law
from reports.stats.trend import Trend

_ORDER: Final = tuple(Verdict)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cell:
    """A cell's requests in the cuts that several parts of the summary need."""

    columns: RequestColumns
    measured: RequestColumns
    ok: RequestColumns
    latency: Latencies
    seen: Bunching
    settings: CellSettings
    observed: Observed


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A cell's summary, and of each measured request whether it kept each limit."""

    summary: CellSummary
    kept: Kept


def summarise(
    columns: RequestColumns, settings: CellSettings, observed: Observed | None = None
) -> CellSummary:
    """Return the summary of one cell's requests of all phases (one replication)."""
    return judge(columns, settings, observed).summary


def judge(
    columns: RequestColumns, settings: CellSettings, observed: Observed | None = None
) -> Judged:
    """Return the summary of one replication, and what claims over several are made from."""
    measured = columns.where(columns.phase == "measured")
    ok = measured.where(measured.outcome == "ok")
    cell = _Cell(
        columns=columns,
        measured=measured,
        ok=ok,
        latency=latencies(measured),
        seen=bunching(ok),
        settings=settings,
        observed=observed or Observed(),
    )
    return Judged(
        summary=_summary(cell),
        kept=kept(cell.measured, cell.latency, settings, cell.seen),
    )


def _summary(cell: _Cell) -> CellSummary:
    columns, measured, settings = cell.columns, cell.measured, cell.settings
    window = window_of(measured)
    found = measures(measured, cell.latency, cell.seen)
    by_statistic = _goodput(cell)
    little = littles_law(*flights(columns))
    seen_trends = _trends(cell, window)
    counts = request_counts(columns)
    problems = (
        *checks.client_problems(
            measured, settings, cell.observed, found["itl"].ok.percentiles[50]
        ),
        *_evidence_problems(cell, window, little),
        *checks.trend_problems(seen_trends),
        *run_warnings(counts, settings, cell.observed),
        *answer_warnings(measured),
        *checks.rate_problems(measured, settings),
        *checks.bunching_problems(cell.seen),
        *statistic_warnings(by_statistic, settings),
        *checks.surroundings_problems(cell.ok, cell.latency, settings, cell.observed),
    )
    return CellSummary(
        settings=settings,
        observed=cell.observed,
        verdict=_verdict(problems),
        problems=problems,
        clauses=_clauses(cell, by_statistic),
        counts=counts,
        measures=found,
        goodput=by_statistic,
        prompt=prompt_lengths(cell.ok),
        output=output_lengths(cell.ok),
        tokens=token_totals(cell.ok),
        throughput=throughput(columns, measured, window),
        arrivals=arrivals(checks.arrival_times_ns(measured), _gap_cv(settings)),
        client=_client(cell),
        window=window,
        trends=seen_trends,
        little=little,
        bunching=cell.seen,
    )


def _evidence_problems(
    cell: _Cell, window: Window | None, little: Little | None
) -> Iterator[Problem]:
    measured, settings = cell.measured, cell.settings
    if not len(measured):
        yield Problem(
            concern=Concern.NOTHING_MEASURED,
            seen=f"of {len(cell.columns)} requests none was measured",
        )
    elif not len(cell.ok) and _is_without_limits(settings):
        yield Problem(
            concern=Concern.NOTHING_MEASURED,
            seen=f"of {len(measured)} measured requests none succeeded",
        )
    yield from sum_problems(cell.columns, settings, cell.observed)
    if window is not None:
        yield from checks.flight_problems(cell.columns, measured, settings, window)
    yield from length_problems(
        prompt_lengths(cell.ok), output_lengths(cell.ok), cell.ok, settings
    )
    yield from checks.arrival_problems(measured, settings)
    yield from checks.little_problems(little)
    yield from checks.cap_problems(measured, settings, cell.observed)


def _verdict(problems: tuple[Problem, ...]) -> Verdict:
    given = (VERDICTS.get(problem.concern, Verdict.VALID) for problem in problems)
    return min(given, key=_ORDER.index, default=Verdict.VALID)


def _gap_cv(settings: CellSettings) -> float:
    return 1 / sqrt(settings.burstiness) if settings.arrival == "gamma" else 1.0


def _trends(cell: _Cell, window: Window | None) -> Mapping[str, Trend]:
    if window is None:
        return {}
    ok_ttft = np.where(cell.measured.outcome == "ok", cell.latency.ttft, np.nan)
    return trends(cell.columns, cell.measured, ok_ttft, window)


def _client(cell: _Cell) -> Client:
    send_lag, loop_lag, cpu_share = checks.worst_lags(cell.measured, cell.observed)
    return Client(
        send_lag_ms_p99=send_lag,
        loop_lag_ms_p99=loop_lag,
        cpu_share=cpu_share,
        rtt_ms_p50=checks.rtt_ms_p50(cell.observed),
        rtt_share_of_ttft=checks.rtt_share_of_ttft(cell.latency, cell.observed),
    )


def _is_without_limits(settings: CellSettings) -> bool:
    return settings.slo.ttft_ms is None and settings.slo.itl_ms is None


def _goodput(cell: _Cell) -> Mapping[ItlStatistic, Goodput]:
    slo = cell.settings.slo
    tokens, ok = output_tokens(cell.measured), cell.measured.outcome == "ok"
    return {
        statistic: unseen_goodput(len(cell.measured))
        if _is_without_limits(cell.settings)
        or (slo.itl_ms is not None and is_unseen(cell.seen, statistic))
        else goodput(
            compliant(cell.measured, cell.latency, cell.settings, statistic), ok, tokens
        )
        for statistic in ITL_STATISTICS
    }


def _clauses(cell: _Cell, by_statistic: Mapping[ItlStatistic, Goodput]) -> Mapping[str, Clause]:
    slo, ok = cell.settings.slo, cell.measured.outcome == "ok"
    first_ms = cell.latency.ttfa if slo.first == "answer" else cell.latency.ttft
    first_ms = first_ms[ok & np.isfinite(first_ms)]
    failures = len(cell.measured) - len(first_ms)
    name = "TTFA" if slo.first == "answer" else "TTFT"
    return {
        "ttft": percentile_clause(name, first_ms, failures, slo.ttft_ms, slo.percentile),
        "itl": _itl_clause(cell),
        "goodput": goodput_clause(
            by_statistic[slo.itl_statistic], slo.goodput, slo.itl_statistic
        ),
    }


def _itl_clause(cell: _Cell) -> Clause:
    """The clause on ITL: over requests, or for `p95_gap` over all gaps of the cell."""
    slo, measured = cell.settings.slo, cell.measured
    one_token = cell.settings.output_tokens == 1
    if is_unseen(cell.seen, slo.itl_statistic) and not one_token:
        return unseen_clause(f"ITL ({slo.itl_statistic})", slo.itl_ms, len(measured))
    if slo.itl_statistic == "p95_gap" and not one_token:
        return gap_clause(measured, slo.itl_ms, slo.percentile)
    itl_ms = cell.latency.itl(slo.itl_statistic)[measured.outcome == "ok"]
    itl_ms = np.nan_to_num(itl_ms) if one_token else itl_ms[np.isfinite(itl_ms)]
    failures = len(measured) - len(itl_ms)
    return percentile_clause(slo.itl_statistic, itl_ms, failures, slo.itl_ms, slo.percentile)
