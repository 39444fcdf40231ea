"""The engine's counters in the four runtimes' own metric dialects.

Series names are those of vLLM 0.33, SGLang 0.5, TensorRT-LLM 1.2 and llama-server of 2026.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson

from flows.rehearsal.engine import Engine
from flows.rehearsal.settings import Settings
from flows.rehearsal.tally import Histogram

TEXT = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One metric: a number, or a histogram of seconds, with its labels."""

    name: str
    kind: str
    value: float | Histogram
    labels: tuple[tuple[str, str], ...] = ()

    def lines(self) -> list[str]:
        """Lines of the Prometheus text format."""
        if isinstance(self.value, Histogram):
            buckets = [
                f"{self.name}_bucket{_labelled((*self.labels, ('le', bound)))} {count}"
                for bound, count in self.value.cumulative()
            ]
            labels = _labelled(self.labels)
            total = f"{self.name}_sum{labels} {self.value.total_s}"
            return [*buckets, total, f"{self.name}_count{labels} {self.value.count}"]
        return [f"{self.name}{_labelled(self.labels)} {self.value}"]


def _labelled(labels: tuple[tuple[str, str], ...]) -> str:
    if not labels:
        return ""
    return "{" + ",".join(f'{name}="{value}"' for name, value in labels) + "}"


def render(series: list[Series], missing: tuple[str, ...]) -> bytes:
    """Prometheus text of these series, without those whose names start with `missing`."""
    lines: list[str] = []
    seen: set[str] = set()
    for item in series:
        if missing and item.name.startswith(missing):
            continue
        if item.name not in seen:
            seen.add(item.name)
            base = item.name
            lines += [f"# HELP {base} Rehearsed {base}.", f"# TYPE {base} {item.kind}"]
        lines += item.lines()
    return ("\n".join(lines) + "\n").encode()


def vllm(engine: Engine, settings: Settings) -> list[Series]:
    """Series as vLLM names them."""
    labels = (("model_name", settings.model), ("engine", "0"))
    tally, scheduler = engine.tally, engine.scheduler
    pool = scheduler.pool
    rows: list[tuple[str, str, float | Histogram]] = [
        ("num_requests_running", "gauge", len(scheduler.running)),
        ("num_requests_waiting", "gauge", len(scheduler.waiting)),
        ("kv_cache_usage_perc", "gauge", pool.used / pool.capacity),
        ("num_preemptions_total", "counter", scheduler.preemptions),
        ("prompt_tokens_total", "counter", tally.prompt_tokens),
        ("generation_tokens_total", "counter", tally.generation_tokens),
        ("prefix_cache_queries_total", "counter", scheduler.prefix_queries),
        ("prefix_cache_hits_total", "counter", scheduler.prefix_hits),
        ("prompt_tokens_cached_total", "counter", scheduler.prefix_hits),
        ("time_to_first_token_seconds", "histogram", tally.ttft),
        ("inter_token_latency_seconds", "histogram", tally.gap),
        ("request_time_per_output_token_seconds", "histogram", tally.per_token),
        ("e2e_request_latency_seconds", "histogram", tally.e2e),
        ("request_queue_time_seconds", "histogram", tally.queue),
    ]
    series = [
        Series(name=f"vllm:{name}", kind=kind, value=value, labels=labels)
        for name, kind, value in rows
    ]
    for reason, count in tally.finished.items():
        series.append(
            Series(
                name="vllm:request_success_total",
                kind="counter",
                value=count,
                labels=(*labels, ("finished_reason", reason)),
            )
        )
    return [*series, _cache_config(settings)]


def _cache_config(settings: Settings) -> Series:
    engine = settings.engine
    facts = {
        "block_size": engine.block_tokens,
        "cache_dtype": "auto",
        "enable_prefix_caching": engine.prefix_cache,
        "num_gpu_blocks": engine.kv_blocks,
        **settings.identity.reported,
    }
    labels = tuple((name, str(value)) for name, value in facts.items())
    return Series(name="vllm:cache_config_info", kind="gauge", value=1.0, labels=labels)


def sglang(engine: Engine, settings: Settings) -> list[Series]:
    """Series as SGLang names them."""
    labels = (("model_name", settings.model), ("engine_type", "unified"), ("tp_rank", "0"))
    tally, scheduler = engine.tally, engine.scheduler
    pool = scheduler.pool
    hit_rate = scheduler.prefix_hits / max(1, scheduler.prefix_queries)
    rows: list[tuple[str, str, float | Histogram]] = [
        ("num_running_reqs", "gauge", len(scheduler.running)),
        ("num_queue_reqs", "gauge", len(scheduler.waiting)),
        ("token_usage", "gauge", pool.used / pool.capacity),
        ("kv_used_tokens", "gauge", pool.used * settings.engine.block_tokens),
        ("cache_hit_rate", "gauge", hit_rate),
        ("num_retracted_requests_total", "counter", scheduler.preemptions),
        ("prompt_tokens_total", "counter", tally.prompt_tokens),
        ("generation_tokens_total", "counter", tally.generation_tokens),
        ("cached_tokens_total", "counter", scheduler.prefix_hits),
        ("num_requests_total", "counter", sum(tally.finished.values())),
        ("num_aborted_requests_total", "counter", tally.finished["abort"]),
        ("time_to_first_token_seconds", "histogram", tally.ttft),
        ("inter_token_latency_seconds", "histogram", tally.gap),
        ("e2e_request_latency_seconds", "histogram", tally.e2e),
        ("queue_time_seconds", "histogram", tally.queue),
    ]
    return [
        Series(name=f"sglang:{name}", kind=kind, value=value, labels=labels)
        for name, kind, value in rows
    ]


def tensorrt_llm(engine: Engine, settings: Settings) -> list[Series]:
    """Series as TensorRT-LLM names them at /prometheus/metrics."""
    labels = (("model_name", settings.model), ("engine_type", "trtllm"))
    tally, scheduler = engine.tally, engine.scheduler
    pool = scheduler.pool
    hit_rate = scheduler.prefix_hits / max(1, scheduler.prefix_queries)
    rows: list[tuple[str, str, float | Histogram]] = [
        ("num_requests_running", "gauge", len(scheduler.running)),
        ("num_requests_waiting", "gauge", len(scheduler.waiting)),
        ("kv_cache_utilization", "gauge", pool.used / pool.capacity),
        ("kv_cache_used_blocks", "gauge", pool.used),
        ("kv_cache_hit_rate", "gauge", hit_rate),
        ("num_paused_requests", "gauge", scheduler.preemptions),
        ("time_to_first_token_seconds", "histogram", tally.ttft),
        ("time_per_output_token_seconds", "histogram", tally.per_token),
        ("e2e_request_latency_seconds", "histogram", tally.e2e),
        ("request_queue_time_seconds", "histogram", tally.queue),
    ]
    series = [
        Series(name=f"trtllm_{name}", kind=kind, value=value, labels=labels)
        for name, kind, value in rows
    ]
    for reason, count in tally.finished.items():
        series.append(
            Series(
                name="trtllm_request_success_total",
                kind="counter",
                value=count,
                labels=(*labels, ("finished_reason", reason)),
            )
        )
    return series


def llama_server(engine: Engine, settings: Settings) -> list[Series]:
    """Series as llama-server names them; its two rates read 0, as they do there."""
    del settings
    tally, scheduler = engine.tally, engine.scheduler
    rows: list[tuple[str, str, float]] = [
        ("prompt_tokens_total", "counter", tally.prompt_tokens - scheduler.prefix_hits),
        ("prompt_tokens_cached_total", "counter", scheduler.prefix_hits),
        ("prompt_seconds_total", "counter", round(tally.prefill_s, 3)),
        ("tokens_predicted_total", "counter", tally.generation_tokens),
        ("tokens_predicted_seconds_total", "counter", round(tally.decode_s, 3)),
        ("n_decode_total", "counter", tally.steps),
        ("n_busy_slots_per_decode", "gauge", tally.sequence_steps / max(1, tally.steps)),
        ("prompt_tokens_seconds", "gauge", 0.0),
        ("predicted_tokens_seconds", "gauge", 0.0),
        ("requests_processing", "gauge", len(scheduler.running)),
        ("requests_deferred", "gauge", len(scheduler.waiting)),
    ]
    return [
        Series(name=f"llamacpp:{name}", kind=kind, value=value) for name, kind, value in rows
    ]


DIALECTS = {
    "vllm": vllm,
    "sglang": sglang,
    "tensorrt_llm": tensorrt_llm,
    "llama_server": llama_server,
}


class IterationStats:
    """TensorRT-LLM's /metrics: JSON of the iterations since it was last read."""

    def __init__(self) -> None:
        self._read_steps = 0

    def take(self, engine: Engine) -> bytes:
        """Return what has not been read; an idle engine answers an empty list."""
        tally, scheduler = engine.tally, engine.scheduler
        if tally.steps == self._read_steps:
            return b"[]"
        self._read_steps = tally.steps
        pool = scheduler.pool
        stats: dict[str, Any] = {
            "iter": tally.steps,
            "numActiveRequests": len(scheduler.running),
            "numQueuedRequests": len(scheduler.waiting),
            "maxNumActiveRequests": engine.settings.engine.max_num_seqs,
            "kvCacheStats": {
                "usedNumBlocks": pool.used,
                "freeNumBlocks": pool.available,
                "maxNumBlocks": pool.capacity,
                "tokensPerBlock": engine.settings.engine.block_tokens,
                "cacheHitRate": scheduler.prefix_hits / max(1, scheduler.prefix_queries),
            },
        }
        return orjson.dumps([stats])
