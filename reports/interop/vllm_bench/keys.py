"""One of our replications with the keys of ``vllm bench serve``, by its definitions.

Latencies there count from the send, percentiles interpolate, deviations are of the
population, and all of them are over successes alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from reports.cell.latency import output_tokens
from reports.columns import NULL, RequestColumns, known, since_ms
from reports.interop.foreign import OwnCell

Reals = NDArray[np.float64]
_PERCENTS: Final = (50, 90, 95, 99)


def write(cell: OwnCell) -> Mapping[str, Any]:
    """The object that ``--save-result --save-detailed`` would have written of it."""
    columns = cell.columns.where(cell.columns.sent_ns != NULL)
    ok = columns.outcome == "ok"
    tokens = np.where(ok, np.nan_to_num(output_tokens(columns)), 0).astype(np.int64)
    prompts = np.nan_to_num(_prompts(columns)).astype(np.int64)
    duration_s = _duration_s(columns)
    completed, produced, read = int(ok.sum()), int(tokens.sum()), int(prompts[ok].sum())
    return {
        **_setup(cell, len(columns)),
        "duration": duration_s,
        "completed": completed,
        "failed": len(columns) - completed,
        "total_input_tokens": read,
        "total_output_tokens": produced,
        "request_throughput": completed / duration_s,
        "request_goodput": None,
        "output_throughput": produced / duration_s,
        "total_token_throughput": (read + produced) / duration_s,
        **_arrays(columns, ok, tokens, prompts),
        **_peaks(columns, ok),
        "rtfx": 0.0,
        **_statistics(columns, ok, tokens, has_cap=cell.max_in_flight is not None),
    }


def _setup(cell: OwnCell, count: int) -> dict[str, Any]:
    return {
        "date": cell.started_at,
        "endpoint_type": "openai",
        "backend": "openai",
        "label": cell.candidate,
        "model_id": cell.model,
        "tokenizer_id": None,
        "num_prompts": count,
        "request_rate": "inf" if cell.rate_per_s is None else cell.rate_per_s,
        "burstiness": cell.burstiness,
        "max_concurrency": cell.max_in_flight,
    }


def _prompts(columns: RequestColumns) -> Reals:
    asked = known(columns.prompt_tokens_asked)
    return np.where(columns.prompt_tokens != NULL, known(columns.prompt_tokens), asked)


def _duration_s(columns: RequestColumns) -> float:
    """From the first send to the last end, in seconds; never 0."""
    ends = np.where(columns.done_ns != NULL, columns.done_ns, columns.sent_ns)
    span = int(ends.max() - columns.sent_ns.min()) if len(columns) else 0
    return max(span, 1) / 1e9


def _arrays(
    columns: RequestColumns,
    ok: NDArray[np.bool_],
    tokens: NDArray[np.int64],
    prompts: NDArray[np.int64],
) -> dict[str, Any]:
    itls = [
        (gaps.astype(np.float64) / 1e6).tolist() if is_ok else []
        for gaps, is_ok in zip(_gaps(columns), ok, strict=True)
    ]
    return {
        "input_lens": prompts.tolist(),
        "output_lens": tokens.tolist(),
        "ttfts": np.where(ok, _ttft_s(columns), 0.0).tolist(),
        "itls": itls,
        "latencies": np.where(ok, _latency_s(columns), 0.0).tolist(),
        "start_times": (columns.sent_ns / 1e9).tolist(),
        "queue_times": np.nan_to_num(
            since_ms(columns.sent_ns, columns.scheduled_ns) / 1e3
        ).tolist(),
        "generated_texts": [""] * len(columns),
        "errors": [
            "" if is_ok else str(error or outcome)
            for is_ok, error, outcome in zip(ok, columns.error, columns.outcome, strict=True)
        ],
    }


def _gaps(columns: RequestColumns) -> list[Any]:
    return np.split(columns.gap_us, columns.gap_offsets[1:-1]) if len(columns) else []


def _ttft_s(columns: RequestColumns) -> Reals:
    return np.nan_to_num(since_ms(columns.first_token_ns, columns.sent_ns)) / 1e3


def _latency_s(columns: RequestColumns) -> Reals:
    """From the send to the last token."""
    return np.nan_to_num(since_ms(columns.last_token_ns, columns.sent_ns)) / 1e3


def _peaks(columns: RequestColumns, ok: NDArray[np.bool_]) -> dict[str, Any]:
    """Most chunks in one second, and most successful requests in flight at once."""
    kept = columns.where(ok)
    if not len(kept):
        return {"max_output_tokens_per_s": 0.0, "max_concurrent_requests": 0}
    start = int(kept.sent_ns.min())
    first_s = (kept.first_token_ns - start) / 1e9
    ends = np.concatenate(
        [
            [first, *(first + np.cumsum(gaps.astype(np.float64)) / 1e6)]
            for first, gaps in zip(first_s, _gaps(kept), strict=True)
        ]
    )
    times = np.concatenate((kept.sent_ns, kept.last_token_ns))
    steps = np.repeat([1, -1], len(kept))
    order = np.lexsort((steps, times))  # one that ends makes room for one that begins then
    return {
        "max_output_tokens_per_s": float(np.bincount(ends.astype(np.int64)).max()),
        "max_concurrent_requests": int(np.cumsum(steps[order]).max()),
    }


def _statistics(
    columns: RequestColumns,
    ok: NDArray[np.bool_],
    tokens: NDArray[np.int64],
    *,
    has_cap: bool,
) -> dict[str, float]:
    ttft, latency = _ttft_s(columns)[ok], _latency_s(columns)[ok]
    several = tokens[ok] > 1
    values = {
        "ttft": ttft,
        "tpot": (latency - ttft)[several] / (tokens[ok][several] - 1),
        "itl": columns.where(ok).gap_us.astype(np.float64) / 1e6,
        "e2el": latency,
    }
    if has_cap:
        waits = since_ms(columns.sent_ns, columns.scheduled_ns)[ok] / 1e3
        values["client_queue_time"] = np.nan_to_num(waits)
    return {
        key: number
        for name, seconds in values.items()
        for key, number in _of(name, seconds).items()
    }


def _of(name: str, seconds: Reals) -> dict[str, float]:
    """Mean, median, deviation and percentiles in milliseconds; 0 without a value, as there."""
    values = (seconds if len(seconds) else np.zeros(1)) * 1e3
    return {
        f"mean_{name}_ms": float(values.mean()),
        f"median_{name}_ms": float(np.median(values)),
        f"std_{name}_ms": float(values.std()),
        **{f"p{p}_{name}_ms": float(np.percentile(values, p)) for p in _PERCENTS},
    }
