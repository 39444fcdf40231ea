"""A cell's summary as the JSON object that `runoff bench --json` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from reports.cell.distribution import Distribution, Measure
from reports.cell.goodput import Goodput
from reports.cell.lengths import Lengths

if TYPE_CHECKING:
    from reports.cell.summary import CellSummary

SCHEMA_VERSION: Final = 1

_WITH_FAILURES: Final = ("ttft", "service_ttft", "itl", "tpot", "e2e")


def document(summary: CellSummary) -> dict[str, Any]:
    """Return the summary as JSON values; null is unknown or beyond the failures."""
    through, arrivals = summary.throughput, summary.arrivals
    latencies = {
        f"{name}_ms": _latency(measure.ok) for name, measure in summary.measures.items()
    }
    failures = {
        f"{name}_with_failures_ms": _latency(summary.measures[name].with_failures)
        for name in _WITH_FAILURES
    }
    whole = {
        "schema_version": SCHEMA_VERSION,
        "verdict": summary.verdict.value,
        "problems": list(dict.fromkeys(found.concern.value for found in summary.problems)),
        "problem_details": [found.to_json() for found in summary.problems],
        "incomplete": not summary.observed.complete,
        "requests": dict(summary.counts),
        **latencies,
        **failures,
        "limits_ms": {
            name: _bounds(found)
            for name, found in summary.measures.items()
            if found.with_failures.bounds
        },
        "output_tokens_per_s": through.output_tokens_per_s,
        "requests_per_s": through.requests_per_s,
        "offered_rate": summary.settings.offered_rate,
        "achieved_rate": through.achieved_rate,
        "goodput": {
            name: _goodput(found, through.output_tokens_per_s)
            for name, found in summary.goodput.items()
        },
        "clauses": {name: asdict(clause) for name, clause in summary.clauses.items()},
        "in_flight": {"mean": through.in_flight_mean, "peak": through.in_flight_peak},
        "arrivals": {"cv": arrivals.cv, "fano": arrivals.fano, "lag1": arrivals.lag1},
        "tokens": asdict(summary.tokens),
        "lengths": {"prompt": _lengths(summary.prompt), "output": _lengths(summary.output)},
        "warmup": {
            "requests": summary.counts["warmup"],
            "converged": summary.observed.warmup_converged,
        },
        "client": asdict(summary.client),
        "window_s": None if summary.window is None else summary.window.length_s,
        "trends": {name: asdict(found) for name, found in summary.trends.items()},
        "little": None if summary.little is None else asdict(summary.little),
        "bunching": asdict(summary.bunching),
    }
    finite: dict[str, Any] = _finite(whole)
    return finite


def _latency(found: Distribution) -> dict[str, float | None]:
    return {
        "mean": found.mean,
        **{f"p{percent}": value for percent, value in found.percentiles.items()},
    }


def _bounds(found: Measure) -> dict[str, dict[str, float | None]]:
    """One-sided 95% limits, failures as infinite; a missing one needs more requests."""
    return {
        f"p{percent}": {"low": bounds.low, "high": bounds.high}
        for percent, bounds in found.with_failures.bounds.items()
    }


def _goodput(found: Goodput, tokens_per_s: float | None) -> dict[str, float | None]:
    """Compliant tokens per second are the compliant part of the window's throughput."""
    compliant_per_s = (
        None
        if found.tokens_share is None or tokens_per_s is None
        else found.tokens_share * tokens_per_s
    )
    return {
        "share": found.share,
        "compliant": found.compliant,
        "scheduled": found.scheduled,
        "lower_bound": found.lower_bound,
        "upper_bound": found.upper_bound,
        "output_tokens_per_s": compliant_per_s,
    }


def _lengths(found: Lengths) -> dict[str, Any]:
    return {
        "asked": {"min": found.asked.low, "mean": found.asked.mean, "max": found.asked.high},
        "seen": {"min": found.seen.low, "mean": found.seen.mean, "max": found.seen.high},
        "source": found.source,
        "miss": found.miss,
        "missed_share": found.missed_share,
    }


def _finite(value: Any) -> Any:
    """The value with null for every infinity: JSON has none."""
    if isinstance(value, Mapping):
        return {name: _finite(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return None if isinstance(value, float) and not isfinite(value) else value
