"""What tokens cost an engine before any time is known: KV units, FLOPs, and the bound.

Where the model's architecture and device are known a unit of KV is a byte and a unit of
arithmetic a FLOP, on each rank; where nothing is known both are a token, and what a unit takes
comes from measured cells alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from catalog.architecture import kv_read_bytes, kv_write_bytes, prefill_flops
from catalog.placement import Placement
from catalog.roofline import cache_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """KV units read per token of context, and arithmetic of a prompt as a·P + b·P².

    ``cached`` tokens of each prompt lie in the cache already.
    """

    kv_per_token: float = 1.0
    flops_per_token: float = 1.0
    flops_per_square: float = 0.0
    cached: int = 0
    is_physical: bool = False

    def chunk(self, begin: int, end: int) -> float:
        """Arithmetic of a prompt's tokens from ``begin`` to ``end``."""
        return self.flops_per_token * (end - begin) + self.flops_per_square * (
            end * end - begin * begin
        )


TOKENS: Final = Work()  # of a candidate of which nothing is known


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """What no step undercuts, from specifications alone; infinite rates where none is known."""

    bandwidth: float = float("inf")
    peak: float = float("inf")
    weights: float = 0.0
    kv_per_token: float = 0.0
    token_flops: float = 0.0
    tokens_per_step: int = 1
    cached: int = 0

    def step_s(self, sequences: int, context: float, flops: float) -> float:
        """Seconds at least of a step that decodes ``sequences`` with ``context`` tokens of KV.

        ``flops`` are those of the prompts that are computed in the same step.
        """
        own = max(0.0, context - sequences * self.cached)
        memory = max(0.0, self.weights + own * self.kv_per_token) / self.bandwidth
        compute = (sequences * self.token_flops + flops) / self.peak
        return max(memory, compute) / (self.tokens_per_step if sequences else 1)


NO_FLOOR: Final = Floor()


def work_of(place: Placement) -> Work:
    """Bytes and FLOPs on each of the placement's ranks."""
    arch, terms, kv = place.arithmetic.arch, place.terms, place.kv
    mean = max(2, int(terms.mean_prompt))
    context = max(1, int(terms.mean_context))
    whole, half = prefill_flops(arch, mean, 0), prefill_flops(arch, mean // 2, 0)
    per_square = max(0.0, (whole / mean - half / (mean // 2)) / (mean - mean // 2))
    read = kv_read_bytes(arch, kv, context, place.k) / place.k
    return Work(
        kv_per_token=(read + kv_write_bytes(arch, kv, place.k) / place.k) / context,
        flops_per_token=(whole / mean - per_square * mean) / place.k,
        flops_per_square=per_square / place.k,
        cached=min(terms.cached_prefix, mean - 1),
        is_physical=True,
    )


def floor_of(place: Placement) -> Floor:
    """The bound of the placement's steps, with on-chip caches and drafts granted to it."""
    arch, terms, kv = place.arithmetic.arch, place.terms, place.kv
    longest = max(1, terms.maximum_context)
    bandwidth, peak = place.device.memory_bandwidth, place.peak
    return Floor(
        bandwidth=bandwidth.value if bandwidth is not None else float("inf"),
        peak=peak.value if peak is not None else float("inf"),
        weights=place.sums.weights_read - cache_bytes(place),
        kv_per_token=kv_read_bytes(arch, kv, longest, place.k) / place.k / longest,
        token_flops=place.arithmetic.work.token / place.k,
        tokens_per_step=place.draft_tokens + 1,
        cached=min(terms.cached_prefix, terms.shortest_context - 1),
    )
