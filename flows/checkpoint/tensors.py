"""The tensors of a model in the order and shape in which Hugging Face stores them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from catalog.architecture import Architecture
from catalog.architecture.mixers import Attention
from catalog.architecture.mlps import Dense, Experts
from flows.checkpoint.families import Family

TABLE_GAIN: Final = 2.0
QUERY_GAIN: Final = 2.0
BIAS_DEVIATION: Final = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Tensor:
    """One tensor: rows first, as in PyTorch.

    ``deviation`` is the standard deviation that its random values are drawn for; None: every
    value is ``constant``. ``table`` says that a row belongs to each token.
    """

    name: str
    shape: tuple[int, ...]
    deviation: float | None = None
    constant: float = 0.0
    table: bool = False

    @property
    def values(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def row(self) -> int:
        """Values of one row; each value of a vector is a row of its own."""
        return self.shape[-1] if len(self.shape) > 1 else 1


def model_tensors(arch: Architecture, family: Family) -> Iterator[Tensor]:
    """All tensors of the model, embedding first.

    Standard deviations keep activations of order one at any width: 1/sqrt(inputs) for a
    matrix, twice that for queries and keys (attention is then peaked, positions matter, and
    a greedy answer does not run in a circle). The vocabulary's tables have 2/sqrt(width): what
    the layers add outweighs the token that went in, or a tied head would answer every token
    with itself. Norms scale by one, those of queries and keys by two.
    """
    yield _table(arch, family, "model.embed_tokens")
    for index, layer in enumerate(arch.layers):
        prefix = f"model.layers.{index}."
        if isinstance(layer.mixer, Attention):
            yield from _attention(layer.mixer, family, prefix + "self_attn.")
        if isinstance(layer.mlp, Dense):
            yield from _dense(layer.mlp, family, prefix + "mlp.")
        elif isinstance(layer.mlp, Experts):
            yield from _experts(layer.mlp, family, prefix)
        for name in family.layer_norms:
            yield _norm(prefix + name, arch.width, family)
    yield _norm("model.norm", arch.width, family, _last_scale(arch, family))
    if not arch.tied:
        yield _table(arch, family, "lm_head")


def _table(arch: Architecture, family: Family, name: str) -> Tensor:
    return Tensor(
        name=f"{name}.weight",
        shape=(arch.vocabulary, arch.width),
        deviation=TABLE_GAIN / math.sqrt(arch.width) / _last_scale(arch, family),
        table=True,
    )


def _last_scale(arch: Architecture, family: Family) -> int:
    """Scale of the last norm; it undoes for the logits how small scaled embeddings are."""
    return math.isqrt(arch.width) if family.scaled_embeddings else 1


def _norm(name: str, width: int, family: Family, scale: float = 1.0) -> Tensor:
    return Tensor(name=f"{name}.weight", shape=(width,), constant=scale - family.norm_offset)


def _linear(
    name: str, rows: int, inputs: int, *, gain: float = 1.0, bias: bool = False
) -> Iterator[Tensor]:
    yield Tensor(
        name=f"{name}.weight", shape=(rows, inputs), deviation=gain / math.sqrt(inputs)
    )
    if bias:
        yield Tensor(name=f"{name}.bias", shape=(rows,), deviation=BIAS_DEVIATION)


def _attention(mixer: Attention, family: Family, prefix: str) -> Iterator[Tensor]:
    queries, keys = mixer.query_heads * mixer.head_dim, mixer.kv_heads * mixer.head_dim
    width, bias = mixer.width, mixer.qkv_bias
    if family.fused:
        yield from _linear(prefix + "qkv_proj", queries + 2 * keys, width, gain=QUERY_GAIN)
    else:
        for name, rows, gain in (
            ("q_proj", queries, QUERY_GAIN),
            ("k_proj", keys, QUERY_GAIN),
            ("v_proj", keys, 1.0),
        ):
            yield from _linear(prefix + name, rows, width, gain=gain, bias=bias)
    yield from _linear(prefix + "o_proj", width, queries, bias=mixer.output_bias)
    if mixer.qk_norm:
        yield _norm(prefix + "q_norm", mixer.head_dim, family, QUERY_GAIN)
        yield _norm(prefix + "k_norm", mixer.head_dim, family, QUERY_GAIN)


def _dense(mlp: Dense, family: Family, prefix: str) -> Iterator[Tensor]:
    if family.fused:
        yield from _linear(prefix + "gate_up_proj", 2 * mlp.hidden, mlp.width)
    else:
        for name in ("gate_proj", "up_proj"):
            yield from _linear(prefix + name, mlp.hidden, mlp.width, bias=mlp.bias)
    yield from _linear(prefix + "down_proj", mlp.width, mlp.hidden, bias=mlp.bias)


def _experts(mlp: Experts, family: Family, prefix: str) -> Iterator[Tensor]:
    block = prefix + family.expert_block
    yield from _linear(f"{block}.gate", mlp.experts, mlp.width)
    gate, up, down = family.expert_matrices
    for expert in range(mlp.experts):
        own = f"{block}.experts.{expert}."
        yield from _linear(own + gate, mlp.hidden, mlp.width)
        yield from _linear(own + up, mlp.hidden, mlp.width)
        yield from _linear(own + down, mlp.width, mlp.hidden)
