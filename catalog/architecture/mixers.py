"""Attention: what one layer caches, reads and computes over earlier tokens.

Each kind of mixer answers the same questions, so that memory, traffic and arithmetic can be
summed over layers without knowing the kind. The recurrent kinds are in ``recurrent``.
"""

from __future__ import annotations

from dataclasses import dataclass

from catalog.architecture.storage import KvPrecision
from catalog.architecture.tally import Tally


def heads_per_rank(heads: int, ranks: int) -> int:
    """Heads that one of ``ranks`` holds: a head is never split, so at least one."""
    return -(-heads // ranks)


class Mixer:
    """A layer's way to mix tokens; the defaults are those of a mixer that keeps nothing."""

    __slots__ = ()

    @property
    def kind(self) -> str:
        """One of mha, gqa, sliding, mla, linear, mamba."""
        raise NotImplementedError

    def tally(self) -> Tally:
        """Parameters of this mixer."""
        raise NotImplementedError

    def split(self) -> dict[str, int]:
        """Things that tensor parallelism deals out whole, and how many there are."""
        raise NotImplementedError

    def replicated(self, ranks: int) -> int:  # noqa: ARG002
        """Parameters held again on further ranks, summed over all ranks."""
        return 0

    def kv_bytes(self, kv: KvPrecision, ranks: int) -> int:  # noqa: ARG002
        """Cached bytes per token on one rank."""
        return 0

    def keys(self, context: int) -> int:  # noqa: ARG002
        """Cached tokens that the next token looks at."""
        return 0

    @property
    def flops_per_key(self) -> int:
        """Attention FLOPs per pair of a new token and a token that it looks at."""
        return 0

    def state_bytes(self, ranks: int) -> int:  # noqa: ARG002
        """Bytes per stream on one rank that do not grow with the context."""
        return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention(Mixer):
    """Softmax attention with grouped keys and values; ``window`` limits how far it looks."""

    width: int
    query_heads: int
    kv_heads: int
    head_dim: int
    window: int | None = None
    gated: bool = False  # an output gate as wide as the queries
    qkv_bias: bool = False
    output_bias: bool = False
    qk_norm: bool = False
    sinks: bool = False

    @property
    def kind(self) -> str:
        if self.window is not None:
            return "sliding"
        return "mha" if self.query_heads == self.kv_heads else "gqa"

    def tally(self) -> Tally:
        queries = self.query_heads * self.head_dim
        keys = self.kv_heads * self.head_dim
        query_rows = queries * (2 if self.gated else 1)
        bias = (query_rows + 2 * keys) * self.qkv_bias + self.width * self.output_bias
        return Tally(
            linear=self.width * (query_rows + 2 * keys + queries),
            norms=2 * self.head_dim * self.qk_norm,
            vectors=bias + self.query_heads * self.sinks,
        )

    def split(self) -> dict[str, int]:
        return {"query heads": self.query_heads}

    def replicated(self, ranks: int) -> int:
        copies = ranks * heads_per_rank(self.kv_heads, ranks) - self.kv_heads
        return 2 * self.width * self.head_dim * copies

    def kv_bytes(self, kv: KvPrecision, ranks: int) -> int:
        return 2 * heads_per_rank(self.kv_heads, ranks) * kv.vector_bytes(self.head_dim)

    def keys(self, context: int) -> int:
        return context if self.window is None else min(context, self.window)

    @property
    def flops_per_key(self) -> int:
        return 4 * self.query_heads * self.head_dim


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent(Mixer):
    """Multi-head latent attention: one compressed key-value vector per token for all heads."""

    width: int
    heads: int
    query_rank: int | None
    kv_rank: int
    rope_dim: int
    nope_dim: int
    value_dim: int

    @property
    def kind(self) -> str:
        return "mla"

    def tally(self) -> Tally:
        query_dim = self.heads * (self.nope_dim + self.rope_dim)
        if self.query_rank is None:
            queries = self.width * query_dim
        else:
            queries = self.query_rank * (self.width + query_dim)
        compressed = self.width * (self.kv_rank + self.rope_dim)
        expanded = self.kv_rank * self.heads * (self.nope_dim + self.value_dim)
        output = self.heads * self.value_dim * self.width
        return Tally(
            linear=queries + compressed + expanded + output,
            norms=(self.query_rank or 0) + self.kv_rank,
        )

    def split(self) -> dict[str, int]:
        return {"query heads": self.heads}

    def kv_bytes(self, kv: KvPrecision, ranks: int) -> int:  # noqa: ARG002
        return kv.latent_bytes(self.kv_rank, self.rope_dim)

    def keys(self, context: int) -> int:
        return context

    @property
    def flops_per_key(self) -> int:
        # The least: on expanded keys and values. Kernels that attend on the latent vector
        # itself multiply 2 heads (2 rank + rope) per pair, and save the expansion.
        return 2 * self.heads * (self.nope_dim + self.rope_dim + self.value_dim)
