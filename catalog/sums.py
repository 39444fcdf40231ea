"""Bytes and FLOPs of one model under one contract, per rank, in both columns of the gates."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from catalog.architecture import (
    Architecture,
    KvPrecision,
    Precision,
    all_reduces_per_step,
    decode_flops,
    embedding_parameters,
    head_parameters,
    heads_divide,
    kv_bytes_per_token,
    kv_read_bytes,
    kv_resident_bytes,
    kv_write_bytes,
    lesson_prefill_flops,
    norm_parameters,
    prefill_flops,
    read_bytes_per_step,
    weight_bytes_per_rank,
)
from catalog.architecture.checkpoint import (
    CheckpointBytes,
    checkpoint_read_bytes,
    checkpoint_weight_bytes,
)
from catalog.architecture.weights import Mode
from catalog.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """Bytes on each of k ranks, and FLOPs of all ranks together.

    ``weights`` lie in memory, ``weights_read`` are read per step at least. ``kv_*`` are one
    stream's: ``kv_mean`` what it occupies on average and ``kv_longest`` at most (whole
    blocks), ``kv_moved`` what a step reads and writes for it. A declared common prefix is
    held and read once for all streams: ``kv_shared`` and ``kv_shared_moved``. ``assumed_*``
    are the lesson's rules, with the windows, latent caches and active experts that the
    lesson does not speak of; ``lesson_*`` are its rules as they stand.
    """

    weights: float
    weights_read: float
    kv_mean: float
    kv_longest: float
    kv_shared: float
    kv_moved: float
    kv_shared_moved: float
    assumed_weights: float
    assumed_kv_longest: float
    assumed_kv_read: float
    lesson_kv_longest: float
    lesson_kv_read: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """FLOPs of all ranks together, whatever the precision: at least, and by the lesson.

    ``prefill`` is for the prompt at the SLO's percentile, ``mean_prefill`` for the mean one,
    ``token`` for one more token at the mean context.
    """

    prefill: float
    mean_prefill: float
    token: float
    lesson_prefill: float
    assumed_prefill: float
    assumed_mean_prefill: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Arithmetic:
    """The sums of one model under one contract; each is computed once.

    ``checkpoint`` holds the bytes that a checkpoint's own headers state; without it the
    bytes follow from the storage scheme's bits per weight.
    """

    arch: Architecture
    terms: Terms
    work: Work
    routed: bool
    all_reduces: int
    checkpoint: CheckpointBytes | None = None
    _sums: dict[tuple[str, str, int, int], Sums] = field(default_factory=dict)
    _expected: dict[tuple[str, int], int] = field(default_factory=dict)
    _uneven: dict[int, str | None] = field(default_factory=dict)

    @classmethod
    def of(
        cls, arch: Architecture, terms: Terms, checkpoint: CheckpointBytes | None = None
    ) -> Arithmetic:
        """Sums for this model and contract."""
        return cls(
            arch=arch,
            terms=terms,
            work=_work(arch, terms),
            routed=arch.routed,
            all_reduces=all_reduces_per_step(arch),
            checkpoint=checkpoint,
        )

    def sums(self, weights: Precision, kv: KvPrecision, *, k: int, block_tokens: int) -> Sums:
        """Bytes on each of ``k`` ranks; the cache is dealt out in blocks of tokens."""
        key = (weights.name, kv.name, k, block_tokens)
        if key not in self._sums:
            self._sums[key] = Sums(
                weights=self._held(weights, k, floor=True),
                weights_read=self._read(weights, 1, "bound") / k,
                assumed_weights=self._held(weights, k, floor=False),
                **_cache_sums(self.arch, self.terms, kv, k, block_tokens),
            )
        return self._sums[key]

    def uneven(self, k: int) -> str | None:
        """Why ``k`` ranks cannot share the model evenly; None where they can."""
        if k not in self._uneven:
            self._uneven[k] = heads_divide(self.arch, k)
        return self._uneven[k]

    def assumed_weights_read(self, weights: Precision, batch: int) -> int:
        """Weight bytes per step of all ranks: all of them, of experts the expected ones."""
        key = (weights.name, batch if self.routed else 0)
        if key not in self._expected:
            mode: Mode = "prediction" if self.routed else "lesson"
            self._expected[key] = self._read(weights, batch, mode)
        return self._expected[key]

    def _held(self, weights: Precision, k: int, *, floor: bool) -> int:
        if self.checkpoint is not None:
            return checkpoint_weight_bytes(self.arch, self.checkpoint, k)
        return weight_bytes_per_rank(self.arch, weights, k, floor=floor)

    def _read(self, weights: Precision, batch: int, mode: Mode) -> int:
        if self.checkpoint is not None:
            return checkpoint_read_bytes(self.arch, self.checkpoint, batch, mode)
        return read_bytes_per_step(self.arch, weights, batch, mode)


def _work(arch: Architecture, terms: Terms) -> Work:
    tables = embedding_parameters(arch) + head_parameters(arch) + norm_parameters(arch)

    def least(prompt: int) -> float:
        cached = min(terms.cached_prefix, prompt - 1)
        return prefill_flops(arch, prompt - cached, cached)

    def lesson(prompt: int) -> float:
        cached = min(terms.cached_prefix, prompt - 1)
        return lesson_prefill_flops(arch, prompt) - lesson_prefill_flops(arch, cached)

    def assumed(prompt: int) -> float:
        new = prompt - min(terms.cached_prefix, prompt - 1)
        return min(lesson(prompt), least(prompt) + 2 * tables * new)

    mean = max(1, int(terms.mean_prompt))
    return Work(
        prefill=least(terms.prompt),
        mean_prefill=least(mean),
        token=decode_flops(arch, int(terms.mean_context)),
        lesson_prefill=lesson(terms.prompt),
        assumed_prefill=assumed(terms.prompt),
        assumed_mean_prefill=assumed(mean),
    )


def _cache_sums(
    arch: Architecture, terms: Terms, kv: KvPrecision, k: int, block_tokens: int
) -> dict[str, float]:
    prefix = min(terms.cached_prefix, int(terms.mean_prompt) - 1)
    longest, per_token = terms.maximum_context, kv_bytes_per_token(arch, kv)

    def resident(context: int) -> float:
        return kv_resident_bytes(arch, kv, context, k)

    def read(context: int) -> float:
        return kv_read_bytes(arch, kv, context, k) / k

    shared, shared_read = (resident(prefix), read(prefix)) if prefix else (0.0, 0.0)
    return {
        "kv_mean": _mean(resident, terms) - shared,
        "kv_longest": kv_resident_bytes(arch, kv, longest, k, block_tokens=block_tokens)
        - shared,
        "kv_shared": shared,
        "kv_moved": _mean(read, terms) - shared_read + kv_write_bytes(arch, kv, k) / k,
        "kv_shared_moved": shared_read,
        "assumed_kv_longest": kv_resident_bytes(
            arch, kv, longest, k, block_tokens=block_tokens, rule="engine"
        ),
        "assumed_kv_read": read(int(terms.mean_context)),
        "lesson_kv_longest": longest * per_token / k,
        "lesson_kv_read": terms.mean_context * per_token / k,
    }


def _mean(held: Callable[[int], float], terms: Terms) -> float:
    """Expectation of ``held(context)`` over a request's life, at least.

    What a window limits grows ever more slowly, so the chord between the shortest and the
    longest context lies below it; without windows it is the value at the mean itself.
    """
    low, high = terms.shortest_context, terms.maximum_context
    share = (terms.mean_context - low) / (high - low)
    return held(low) + share * (held(high) - held(low))
