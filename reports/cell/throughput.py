"""What passed through the cell: rates, tokens, requests in flight."""

from __future__ import annotations

from dataclasses import dataclass

from reports.cell.checks import rate_of
from reports.cell.latency import output_tokens
from reports.cell.lengths import Source, output_source
from reports.cell.steady import Window, flights, tokens_between
from reports.columns import NULL, Ints, RequestColumns
from reports.stats.flight import mean_in_flight, peak_in_flight


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Rates over the measured window, whatever phase their requests belong to.

    `achieved_rate` is that of sending measured requests. None: there was no window.
    """

    output_tokens_per_s: float | None
    requests_per_s: float | None
    achieved_rate: float | None
    in_flight_mean: float | None
    in_flight_peak: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """Token totals of the successful measured requests; None where nobody counted."""

    prompt: int | None
    output: int
    source: Source
    chunks: int
    tokenized: int | None
    cached: int | None
    reasoning: int | None


def throughput(
    columns: RequestColumns, measured: RequestColumns, window: Window | None
) -> Throughput:
    """Return the rates and the requests in flight of the measured window."""
    achieved = rate_of(measured.sent_ns[measured.sent_ns != NULL])
    if window is None or window.length_s <= 0:
        return Throughput(
            output_tokens_per_s=None,
            requests_per_s=None,
            achieved_rate=achieved,
            in_flight_mean=None,
            in_flight_peak=None,
        )
    begin_ns, end_ns = flights(columns)
    ended_ns = columns.done_ns[columns.outcome == "ok"]
    ended = int(((ended_ns > window.begin_ns) & (ended_ns <= window.end_ns)).sum())
    tokens = tokens_between(columns, window.begin_ns, window.end_ns)
    return Throughput(
        output_tokens_per_s=tokens / window.length_s,
        requests_per_s=ended / window.length_s,
        achieved_rate=achieved,
        in_flight_mean=mean_in_flight(begin_ns, end_ns, window.begin_ns, window.end_ns),
        in_flight_peak=peak_in_flight(begin_ns, end_ns, window.begin_ns, window.end_ns),
    )


def token_totals(ok: RequestColumns) -> Tokens:
    """Return how many tokens the successful requests took and gave."""
    return Tokens(
        prompt=_total(ok.prompt_tokens),
        output=int(output_tokens(ok).sum()),
        source=output_source(ok),
        chunks=int(ok.output_chunks.sum()),
        tokenized=_total(ok.output_tokenized),
        cached=_total(ok.cached_tokens),
        reasoning=_total(ok.reasoning_tokens),
    )


def _total(tokens: Ints) -> int | None:
    told = tokens[tokens != NULL]
    return int(told.sum()) if len(told) else None
