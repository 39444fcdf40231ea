"""Synthetic requests of one replication: what a server of a known speed would have shown."""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np

from reports.columns import NULL, RequestColumns
from reports.run.plan_file import LoadPoint
from tests.reports.conftest import build_cell, unsent


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How fast a server is in one launch at one load point.

    ``spread`` is the coefficient of variation between requests, ``late`` the share of answers
    whose first token comes far beyond any limit, ``failures`` the share that fails.
    """

    ttft_ms: float
    itl_ms: float
    spread: float
    late: float
    failures: float


def requests_of(
    point: LoadPoint,
    pace: Pace,
    rng: np.random.Generator,
    *,
    requests: int,
    duration_s: float,
    output_tokens: int,
    prompt_tokens: int,
    identity: dict[str, object],
) -> RequestColumns:
    """Warm-up and measured requests; as many measured ones, and for as long, as asked."""
    service_s = (pace.ttft_ms + pace.itl_ms * (output_tokens - 1)) / 1000
    streams = point.concurrency or 1
    rate = point.rate_per_s or streams / service_s
    warmup = max(20, streams)
    count = warmup + max(requests, int(np.ceil(duration_s * rate * 1.15)))
    ttft = pace.ttft_ms * rng.lognormal(0, pace.spread, count)
    ttft[rng.random(count) < pace.late] += 60_000
    gaps = pace.itl_ms * rng.lognormal(0, pace.spread / 2, (count, 1))
    gaps = gaps * rng.lognormal(0, pace.spread / 2, (count, output_tokens - 1))
    span_ms = ttft + gaps.sum(axis=1) + 0.1
    due_ms = (
        np.cumsum(rng.exponential(1000 / rate, count))
        if point.is_open
        else _closed(span_ms, streams)
    )
    order = np.argsort(due_ms, kind="stable")
    due_ms, ttft, gaps = due_ms[order], ttft[order], gaps[order]
    cell = build_cell(
        1000 + due_ms,
        ttft_ms=ttft,
        gaps_ms=list(gaps),
        prompt_tokens=prompt_tokens,
        prompt_tokens_asked=prompt_tokens,
        phase=np.where(np.arange(count) < warmup, "warmup", "measured").astype(object),
        **identity,
    )
    failed = np.flatnonzero(rng.random(count) < pace.failures)
    return _failed(cell, failed) if len(failed) else cell


def _closed(span_ms: np.ndarray, streams: int) -> np.ndarray:
    """When each request of a closed loop is due: as soon as one of the streams is free."""
    free = [(0.05 * stream * span_ms[stream], stream) for stream in range(streams)]
    heapq.heapify(free)
    due = np.empty(len(span_ms))
    for number, span in enumerate(span_ms):
        at, stream = heapq.heappop(free)
        due[number] = at
        heapq.heappush(free, (at + span, stream))
    return due


def _failed(cell: RequestColumns, which: np.ndarray) -> RequestColumns:
    cell = unsent(cell, which, "failed_http")
    cell.http_status[which] = 503
    cell.error[which] = "HTTP 503"
    return cell


def sums_of(columns: RequestColumns) -> dict[str, int]:
    """The client's sums: requests that were sent, and their tokens."""
    sent = columns.sent_ns != NULL
    return {
        "requests": int(sent.sum()),
        "prompt_tokens": _sum(columns.prompt_tokens[sent]),
        "output_tokens": _sum(columns.output_tokens[sent]),
    }


def _sum(tokens: np.ndarray) -> int:
    return int(tokens[tokens != NULL].sum())
