"""Latencies of requests, in milliseconds, as the client saw them; NaN where undefined."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Final

import numpy as np

from reports.cell.settings import ItlStatistic
from reports.columns import NULL, Flags, Reals, RequestColumns, known, since_ms
from reports.stats.ragged import list_percentiles, maxima

GAP_PERCENT: Final = 95.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Latencies:
    """One value per request and measure.

    `ttft`, `ttfa` (first token of the answer, after any reasoning) and `e2e` count from
    when the request was due, `service_ttft` from when it was sent, `client_queue` is what
    lies between. `tpot` is the mean time per token behind the first chunk, undefined where
    nothing follows it; `p95_gap` and `max_gap` are over a request's own gaps.
    """

    ttft: Reals
    service_ttft: Reals
    ttfa: Reals
    e2e: Reals
    client_queue: Reals
    tpot: Reals
    p95_gap: Reals
    max_gap: Reals

    def where(self, keep: Flags) -> Latencies:
        """Return the latencies of the requests whose flag is set."""
        return Latencies(**{item.name: getattr(self, item.name)[keep] for item in fields(self)})

    def itl(self, statistic: ItlStatistic) -> Reals:
        """Return the ITL statistic of each request."""
        values: Reals = getattr(self, statistic)
        return values


def latencies(columns: RequestColumns) -> Latencies:
    """Return the latencies of all requests, failed ones too as far as they came."""
    return Latencies(
        ttft=since_ms(columns.first_token_ns, columns.scheduled_ns),
        service_ttft=since_ms(columns.first_token_ns, columns.sent_ns),
        ttfa=since_ms(columns.first_answer_ns, columns.scheduled_ns),
        e2e=since_ms(columns.done_ns, columns.scheduled_ns),
        client_queue=since_ms(columns.sent_ns, columns.scheduled_ns),
        tpot=_tpot_ms(columns),
        p95_gap=list_percentiles(columns.gap_us, columns.gap_offsets, GAP_PERCENT) / 1000,
        max_gap=maxima(columns.gap_us, columns.gap_offsets) / 1000,
    )


def _tpot_ms(columns: RequestColumns) -> Reals:
    """(last token - first token) / (output tokens - tokens of the first chunk)."""
    chunks = np.diff(columns.chunk_offsets)
    first_tokens = np.zeros(len(columns))
    several = chunks > 1
    first_tokens[several] = columns.chunk_tokens[columns.chunk_offsets[:-1][several]]
    behind = output_tokens(columns) - first_tokens
    span_ms = since_ms(columns.last_token_ns, columns.first_token_ns)
    defined = several & (behind > 0)
    return np.where(defined, span_ms / np.where(defined, behind, 1.0), np.nan)


def output_tokens(columns: RequestColumns) -> Reals:
    """Return output tokens: the server's count, else a tokenizer's, else chunks."""
    counted = np.where(
        columns.output_tokenized != NULL, columns.output_tokenized, columns.output_chunks
    )
    return np.where(columns.output_tokens != NULL, known(columns.output_tokens), counted)


def send_lag_ms(columns: RequestColumns) -> Reals:
    """Return how long after it could leave each request left: the client's own delay.

    A request can leave when it is due or, where a cap bound it, when its slot came free.
    For one that was sent a second time, as its connection had been closed, it is unknown.
    """
    slot_free_ns = np.where(
        columns.slot_free_ns != NULL, columns.slot_free_ns, columns.scheduled_ns
    )
    lag_ms = since_ms(columns.sent_ns, np.maximum(columns.scheduled_ns, slot_free_ns))
    return np.where(columns.reconnected, np.nan, lag_ms)
