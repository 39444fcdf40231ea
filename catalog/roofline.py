"""Times of a decode step and of a prefill: at least (bound), and by assumed rates.

A bound takes peak rates, subtracts what on-chip caches may hold, overlaps memory and
arithmetic perfectly, and grants every speculated token. The lesson's rule divides all bytes
by an achieved rate.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.placement import Placement
from catalog.quantity import Quantity

# Share of speculated tokens that is assumed to be accepted; the bound grants all of them.
ASSUMED_ACCEPTANCE = 0.8
_WITHOUT_GROWTH = 1_000_000  # streams, where one more costs no memory


@dataclass(frozen=True, slots=True)
class Roof:
    """Two times of which the longer one counts; None where a fact is missing."""

    memory_s: float | None
    compute_s: float | None
    tokens: float = 1.0

    @property
    def seconds(self) -> float | None:
        """Time per token of a stream; None unless both sides are known."""
        if self.memory_s is None or self.compute_s is None:
            return None
        return max(self.memory_s, self.compute_s) / self.tokens

    @property
    def known_s(self) -> float | None:
        """The longer of those sides that are known: still a lower limit of the time."""
        memory, compute = self.memory_s, self.compute_s
        if memory is None or compute is None:
            known = compute if memory is None else memory
            return None if known is None else known / self.tokens
        return max(memory, compute) / self.tokens

    @property
    def is_compute_bound(self) -> bool:
        """Whether arithmetic takes longer than moving the bytes, as far as both are known."""
        return (self.compute_s or 0.0) > (self.memory_s or 0.0)

    @property
    def memory_alone_s(self) -> float | None:
        """What moving the bytes takes, whatever the arithmetic takes."""
        return None if self.memory_s is None else self.memory_s / self.tokens

    def per(self, streams: int) -> Roof:
        """The same for one of ``streams`` that share the time."""
        return Roof(
            memory_s=None if self.memory_s is None else self.memory_s / streams,
            compute_s=None if self.compute_s is None else self.compute_s / streams,
            tokens=self.tokens,
        )


def step_bytes(placement: Placement, batch: int) -> float:
    """Bytes that one decode step of ``batch`` streams moves on each rank, at least."""
    sums = placement.sums
    return sums.weights_read + sums.kv_shared_moved + batch * sums.kv_moved


def assumed_step_bytes(placement: Placement, batch: int) -> float:
    """The lesson's step bytes on each rank: all weights and every stream's cache."""
    weights = placement.arithmetic.assumed_weights_read(placement.weights, batch)
    lesson = weights / placement.k + batch * placement.sums.assumed_kv_read
    return max(lesson, step_bytes(placement, batch))


def step_flops(placement: Placement, batch: int) -> float:
    """FLOPs of one decode step of ``batch`` streams on each rank."""
    return batch * placement.arithmetic.work.token / placement.k


def bound_step(placement: Placement, batch: int) -> Roof:
    """The shortest possible decode step of ``batch`` streams."""
    moved = max(0.0, step_bytes(placement, batch) - cache_bytes(placement))
    return Roof(
        memory_s=_over(moved, placement.device.memory_bandwidth),
        compute_s=_over(step_flops(placement, batch), placement.peak),
        tokens=placement.draft_tokens + 1,
    )


def assumed_step(placement: Placement, batch: int) -> Roof:
    """A decode step by the lesson's rule; arithmetic counts where its rate is assumed too."""
    return Roof(
        memory_s=_over(assumed_step_bytes(placement, batch), placement.achieved_bandwidth),
        compute_s=_over(step_flops(placement, batch), placement.achieved_compute),
        tokens=expected_tokens_per_step(placement.draft_tokens),
    )


def bound_prefill(placement: Placement) -> Roof:
    """The shortest possible prefill of the prompt at the SLO's percentile."""
    read = max(0.0, placement.sums.weights_read - cache_bytes(placement))
    return Roof(
        memory_s=_over(read, placement.device.memory_bandwidth),
        compute_s=_over(placement.arithmetic.work.prefill / placement.k, placement.peak),
    )


def assumed_prefill(placement: Placement) -> Roof:
    """The same prefill by the lesson's rule and the achieved rates."""
    return _assumed_prefill(placement, placement.arithmetic.work.assumed_prefill)


def assumed_mean_prefill(placement: Placement) -> Roof:
    """Prefill of a mean prompt by the lesson's rule and the achieved rates."""
    return _assumed_prefill(placement, placement.arithmetic.work.assumed_mean_prefill)


def _assumed_prefill(placement: Placement, flops: float) -> Roof:
    return Roof(
        memory_s=_over(placement.sums.weights_read, placement.achieved_bandwidth),
        compute_s=_over(flops / placement.k, placement.achieved_compute),
    )


def bound_request(placement: Placement) -> Roof:
    """Machine time that one mean request costs an engine at the very least.

    Memory: O steps shared by the streams of a batch. Arithmetic: the prompt once, and each
    output token. Both overlap perfectly.
    """
    work, output = placement.arithmetic.work, placement.terms.mean_output
    batch = throughput_batch(placement)
    step = bound_step(placement, batch)
    memory_s = None if step.memory_s is None else output * step.memory_s / batch / step.tokens
    flops = (work.mean_prefill + output * work.token) / placement.k
    return Roof(memory_s=memory_s, compute_s=_over(flops, placement.peak))


def assumed_request_compute(placement: Placement) -> float | None:
    """Seconds of arithmetic that a mean request costs by the lesson's rule; None unknown."""
    work = placement.arithmetic.work
    flops = work.assumed_mean_prefill + placement.terms.mean_output * work.token
    return _over(flops / placement.k, placement.achieved_compute)


def assumed_request_s(placement: Placement) -> float | None:
    """Seconds that a mean request costs an engine if prefill and decode take turns."""
    batch = assumed_batch(placement)
    prefill, step = assumed_mean_prefill(placement), assumed_step(placement, batch)
    if prefill.seconds is None or step.seconds is None:
        return None
    return prefill.seconds + placement.terms.mean_output * step.seconds / batch


def throughput_batch(placement: Placement) -> int:
    """Streams that decode together at best: those of the contract, else all that fit."""
    if placement.terms.streams_stated or placement.capacity_bytes is None:
        return placement.streams
    sums = placement.sums
    free = placement.capacity_bytes - sums.weights - sums.kv_shared
    return _streams(free, sums.kv_mean)


def assumed_batch(placement: Placement) -> int:
    """Streams that decode together by the lesson's memory rule."""
    if placement.terms.streams_stated or placement.memory is None:
        return placement.streams
    usable = placement.memory.value * placement.utilisation
    free = usable - placement.sums.assumed_weights - placement.workspace.value
    return min(_streams(free, placement.sums.assumed_kv_longest), throughput_batch(placement))


def _streams(free_bytes: float, each_bytes: float) -> int:
    if each_bytes <= 0:
        return _WITHOUT_GROWTH
    return max(1, int(free_bytes // each_bytes))


def expected_tokens_per_step(draft_tokens: int) -> float:
    """Tokens per step if each draft token is accepted with the assumed probability."""
    if not draft_tokens:
        return 1.0
    accepted = ASSUMED_ACCEPTANCE
    return (1 - accepted ** (draft_tokens + 1)) / (1 - accepted)


def cache_bytes(placement: Placement) -> float:
    """On-chip bytes of one device that may keep weights between steps; 0 where unknown."""
    cache = placement.device.on_chip_cache
    return cache.value if cache is not None else 0.0


def _over(amount: float, rate: Quantity | None) -> float | None:
    return amount / rate.value if rate is not None and rate.value else None
