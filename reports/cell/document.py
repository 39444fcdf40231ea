"""A cell's summary, and the JSON object of it that `runoff bench --json` writes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from math import isfinite
from typing import Any, Final

from reports.cell.bunching import Bunching
from reports.cell.clauses import Clause
from reports.cell.distribution import Distribution, Measure
from reports.cell.goodput import Goodput
from reports.cell.lengths import Lengths
from reports.cell.problems import Problem, Verdict
from reports.cell.settings import CellSettings, ItlStatistic, Observed
from reports.cell.steady import Window
from reports.cell.throughput import Throughput, Tokens
from reports.stats.arrivals import Arrivals
from reports.stats.flight import Little
from reports.stats.trend import Trend

SCHEMA_VERSION: Final = 1
_NOT_VALID, _MISSES, _INCONCLUSIVE, _HOLDS = 7, 4, 5, 0

_WITH_FAILURES: Final = ("ttft", "service_ttft", "itl", "tpot", "e2e")


@dataclass(frozen=True, slots=True, kw_only=True)
class Client:
    """How the client bore the load, by its worst process, and how far the server was.

    `rtt_share_of_ttft` is the median round trip over the median service TTFT.
    """

    send_lag_ms_p99: float | None
    loop_lag_ms_p99: float | None
    cpu_share: float | None
    rtt_ms_p50: float | None
    rtt_share_of_ttft: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CellSummary:
    """What one cell showed. Statistics are of measured requests, `counts` of all.

    `measures` are latencies by name, `clauses` the contract's (`ttft`, `itl`, `goodput`),
    `goodput` is by ITL statistic, `trends` are those of the measured window by name (none
    where too few requests were measured to judge one).
    """

    settings: CellSettings
    observed: Observed
    verdict: Verdict
    problems: tuple[Problem, ...]
    clauses: Mapping[str, Clause]
    counts: Mapping[str, int]
    measures: Mapping[str, Measure]
    goodput: Mapping[ItlStatistic, Goodput]
    prompt: Lengths
    output: Lengths
    tokens: Tokens
    throughput: Throughput
    arrivals: Arrivals
    client: Client
    window: Window | None
    trends: Mapping[str, Trend]
    little: Little | None
    bunching: Bunching

    @property
    def exit_code(self) -> int:
        """The code that `bench` ends with: 7 unless valid, else 4, 5 or 0 by its clauses."""
        verdicts = {clause.verdict for clause in self.clauses.values()}
        if self.verdict != Verdict.VALID:
            return _NOT_VALID
        if "misses" in verdicts:
            return _MISSES
        return _INCONCLUSIVE if "inconclusive" in verdicts else _HOLDS

    def to_json(self) -> dict[str, Any]:
        """Return the JSON object of `bench --json`."""
        return _document(self)


def _document(summary: CellSummary) -> dict[str, Any]:
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
