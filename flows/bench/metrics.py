"""What the server says of itself: requests in it, and hits of its prefix cache.

Names by runtime, from its own releases: vLLM 0.6 to 0.33, SGLang 0.5, TensorRT-LLM 1.2
(Prometheus text at ``/prometheus/metrics``; its ``/metrics`` is JSON that reading uses up),
llama-server of 2025 and 2026. A name that is absent is unknown, never 0.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from flows.bench.endpoint import root_of
from flows.bench.http import get
from flows.errors import InfrastructureError
from flows.load.plan import Endpoint

_PATHS: Final = ("/metrics", "/prometheus/metrics")
_TIMEOUT_S: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """Series names of one runtime; several names are one quantity's over the versions.

    Prompt tokens that hit the cache against all that were looked up: ``lookups`` where
    the runtime counts them, else hits and misses apart.
    """

    runtime: str
    prefix: str
    running: tuple[str, ...]
    waiting: tuple[str, ...]
    hits: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """All series that are read."""
        return (*self.running, *self.waiting, *self.hits, *self.lookups, *self.misses)


DIALECTS: Final = (
    Dialect(
        runtime="vllm",
        prefix="vllm:",
        running=("vllm:num_requests_running",),
        waiting=("vllm:num_requests_waiting", "vllm:num_requests_swapped"),
        hits=("vllm:prefix_cache_hits_total", "vllm:gpu_prefix_cache_hits_total"),
        lookups=("vllm:prefix_cache_queries_total", "vllm:gpu_prefix_cache_queries_total"),
    ),
    Dialect(
        runtime="sglang",
        prefix="sglang:",
        running=("sglang:num_running_reqs",),
        waiting=("sglang:num_queue_reqs",),
        hits=("sglang:cached_tokens_total",),
        lookups=("sglang:prompt_tokens_total",),
    ),
    Dialect(
        runtime="tensorrt_llm",
        prefix="trtllm_",
        running=("trtllm_num_requests_running",),
        waiting=("trtllm_num_requests_waiting",),
    ),
    Dialect(
        runtime="llama_server",
        prefix="llamacpp:",
        running=("llamacpp:requests_processing",),
        waiting=("llamacpp:requests_deferred",),
        hits=("llamacpp:prompt_tokens_cached_total",),
        misses=("llamacpp:prompt_tokens_total",),
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """One reading of a metrics page, unparsed: the lines that are of use, and when."""

    asked_ns: int
    answered_ns: int
    lines: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """The server's account at one time; None is not available."""

    asked_ns: int
    answered_ns: int
    running: float | None
    waiting: float | None
    hits: float | None
    lookups: float | None

    @property
    def present(self) -> float | None:
        """Requests in the server, whether running or waiting."""
        if self.running is None or self.waiting is None:
            return None
        return self.running + self.waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where one endpoint's metrics are, and in which dialect."""

    url: str
    endpoint: Endpoint
    dialect: Dialect

    def page(self) -> Page | None:
        """The page as it is now, cut down to what is of use; None if it cannot be read."""
        names = tuple(name.encode() for name in self.dialect.names)
        asked_ns = time.monotonic_ns()
        try:
            answer = get(self.url, self.endpoint, _TIMEOUT_S)
        except InfrastructureError:
            return None
        kept = [line for line in answer.body.split(b"\n") if line.startswith(names)]
        return Page(asked_ns=asked_ns, answered_ns=time.monotonic_ns(), lines=b"\n".join(kept))

    def reading(self, page: Page) -> Reading:
        """The page's numbers, summed over engines and ranks."""
        values = _values(page.lines)
        dialect = self.dialect
        hits, lookups = _first(values, dialect.hits), _first(values, dialect.lookups)
        if dialect.misses and hits is not None:
            misses = _first(values, dialect.misses)
            lookups = None if misses is None else hits + misses
        return Reading(
            asked_ns=page.asked_ns,
            answered_ns=page.answered_ns,
            running=_sum(values, dialect.running),
            waiting=_sum(values, dialect.waiting),
            hits=hits,
            lookups=lookups,
        )


def find_source(endpoint: Endpoint) -> Source | None:
    """The endpoint's metrics page; None if it has none that we can read."""
    for path in _PATHS:
        url = root_of(endpoint.url) + path
        try:
            answer = get(url, endpoint, _TIMEOUT_S)
        except InfrastructureError:
            return None
        lines = answer.body.split(b"\n") if answer.status == 200 else []
        for dialect in DIALECTS:
            if any(line.startswith(dialect.prefix.encode()) for line in lines):
                return Source(url=url, endpoint=endpoint, dialect=dialect)
    return None


def _values(lines: bytes) -> dict[str, float]:
    """Series name → sum over its labels."""
    from prometheus_client.parser import (  # noqa: PLC0415  (not before the first send)
        text_string_to_metric_families as families,
    )

    sums: dict[str, float] = {}
    try:
        for family in families(lines.decode() + "\n"):
            for sample in family.samples:
                sums[sample.name] = sums.get(sample.name, 0.0) + sample.value
    except ValueError:
        return {}
    return sums


def _sum(values: dict[str, float], names: Iterable[str]) -> float | None:
    found = [values[name] for name in names if name in values]
    return sum(found) if found else None


def _first(values: dict[str, float], names: Iterable[str]) -> float | None:
    return next((values[name] for name in names if name in values), None)
