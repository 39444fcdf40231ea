"""One launch's measurement of one cell: from its records to figures, and then no records."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any, Final

from reports.cell import CellSummary, judge, observed_of, with_accounts
from reports.cell.clauses import Clause
from reports.cell.kept import Kept
from reports.gathered import Replication
from reports.records import read_records
from reports.run.plan_file import CandidateFacts
from reports.summary.money import costs_of
from reports.summary.server_figures import gauge_most, queue_time_p95_ms, total

_LATENCIES: Final = ("ttft", "service_ttft", "tpot", "itl", "e2e")
_PERCENTS: Final = (50, 90, 95, 99)

Figure = float | None  # infinity: beyond the failures, or a cost without compliant tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchMeasure:
    """One replication of a cell, summarised.

    ``clauses`` are this launch's percentiles by clause (infinity among the failures, None
    unseen), ``kept`` its requests' limits, ``figures`` the cell's measures in it.
    """

    replication: Replication
    summary: CellSummary
    document: Mapping[str, Any]
    kept: Kept
    clauses: Mapping[str, Figure]
    figures: Mapping[str, Figure]
    tokens_per_hour: float
    requests_per_hour: float


def launch_measure(replication: Replication, facts: CandidateFacts) -> LaunchMeasure:
    """Read and summarise one replication; its records are let go of on return."""
    file = replication.measured.file
    settings, observed = file.asked.settings(), observed_of(replication.account)
    columns = read_records(replication.measured.records).columns
    judged = judge(columns, settings, observed)
    summary = judged.summary
    document = with_accounts(summary.to_json(), replication.account, replication.server)
    return LaunchMeasure(
        replication=replication,
        summary=summary,
        document=document,
        kept=judged.kept,
        clauses={name: _value(clause) for name, clause in summary.clauses.items()},
        figures=figures(document, replication.server, facts, compliant_per_s(summary)),
        tokens_per_hour=(summary.throughput.output_tokens_per_s or 0.0) * 3600,
        requests_per_hour=(summary.throughput.requests_per_s or 0.0) * 3600,
    )


def _value(clause: Clause) -> Figure:
    """A launch's percentile; infinity among the failures, None where it cannot be seen."""
    is_unseen = clause.low is None and clause.high is None
    return inf if clause.value is None and not is_unseen else clause.value


def compliant_per_s(summary: CellSummary) -> float | None:
    """Output tokens per second of compliant requests; without limits all successes comply.

    None where the ITL statistic cannot be observed.
    """
    slo, through = summary.settings.slo, summary.throughput.output_tokens_per_s
    if slo.ttft_ms is None and slo.itl_ms is None:
        return through or 0.0
    found = summary.goodput[slo.itl_statistic]
    if found.compliant is None:
        return None
    return (found.tokens_share or 0.0) * (through or 0.0)


def figures(
    document: Mapping[str, Any],
    server: Mapping[str, Any],
    facts: CandidateFacts,
    compliant_tok_per_s: float | None,
) -> dict[str, Figure]:
    """One launch's values of a cell's measures, by name."""
    found: dict[str, Figure] = {
        f"{name}_p{percent}_ms": _percentile(document, name, percent)
        for name in _LATENCIES
        for percent in _PERCENTS
    }
    output = document["output_tokens_per_s"]
    tpot_ms = found["tpot_p50_ms"]
    found |= {
        "output_tokens_per_s": output,
        "compliant_tokens_per_s": compliant_tok_per_s,
        "requests_per_s": document["requests_per_s"],
        "achieved_rate": document["achieved_rate"],
        "in_flight_mean": document["in_flight"]["mean"],
        "interactivity_tok_per_s": None if not tpot_ms else 1000 / tpot_ms,
        "send_lag_p99_ms": document["client"]["send_lag_ms_p99"],
        "server_queue_time_p95_ms": queue_time_p95_ms(server),
        "kv_use_max": gauge_most(server, "kv_use"),
        "preemptions": total(server, "preemptions"),
    }
    if facts.device_count and output is not None and facts.kind == "launch":
        found["output_tok_per_s_per_device"] = output / facts.device_count
    if facts.kind == "launch":
        found["compliant_tok_per_machine_hour"] = (
            None if compliant_tok_per_s is None else compliant_tok_per_s * 3600
        )
    return found | costs_of(facts, output, compliant_tok_per_s)


def _percentile(document: Mapping[str, Any], name: str, percent: int) -> Figure:
    """With failures as infinite: None there is infinity, unless nothing was observed."""
    key = f"p{percent}"
    value: Figure = document[f"{name}_with_failures_ms"][key]
    if value is not None:
        return value
    requests = document["requests"]
    nothing_came = requests["measured"] > 0 and requests["ok"] == 0
    return inf if document[f"{name}_ms"][key] is not None or nothing_came else None
