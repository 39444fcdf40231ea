"""The plain decoder that most families vary: attention, then a gated feed-forward block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from catalog.architecture.config import Fields
from catalog.architecture.mixers import Attention, Mixer
from catalog.architecture.mlps import Dense, Mlp
from catalog.architecture.model import Architecture, Layer, UnknownArchitecture
from catalog.architecture.tally import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class Heads:
    """Query heads, KV heads and head dimension as a config.json states them."""

    query: int
    kv: int
    dim: int


def read_heads(fields: Fields, head_dim: int | None = None) -> Heads:
    """Attention geometry; KV heads default to query heads, the dimension to width/heads."""
    query = fields.size("num_attention_heads")
    kv = fields.size("num_key_value_heads", query)
    if query % kv:
        raise UnknownArchitecture(f"{query} query heads do not share {kv} KV heads evenly")
    dim = fields.size("head_dim", head_dim or fields.size("hidden_size") // query)
    return Heads(query=query, kv=kv, dim=dim)


def read_attention(
    fields: Fields,
    windows: Sequence[int | None],
    heads: Heads,
    *,
    gated: bool = False,
    qkv_bias: bool = False,
    output_bias: bool = False,
    qk_norm: bool = False,
    sinks: bool = False,
) -> list[Mixer]:
    """One softmax attention per layer, each with its own window."""
    width = fields.size("hidden_size")
    return [
        Attention(
            width=width,
            query_heads=heads.query,
            kv_heads=heads.kv,
            head_dim=heads.dim,
            window=window,
            gated=gated,
            qkv_bias=qkv_bias,
            output_bias=output_bias,
            qk_norm=qk_norm,
            sinks=sinks,
        )
        for window in windows
    ]


def read_dense(fields: Fields, *, bias: bool = False) -> Dense:
    """The gated feed-forward block."""
    return Dense(
        width=fields.size("hidden_size"), hidden=fields.size("intermediate_size"), bias=bias
    )


def full(fields: Fields) -> list[str]:
    """Full attention in every layer."""
    return ["full_attention"] * fields.layers()


def decoder(
    fields: Fields,
    family: str,
    heads: Heads,
    mixers: Sequence[Mixer],
    mlps: Sequence[Mlp],
    *,
    norms: int = 2,
    tied: bool = False,
    mtp: Tally | None = None,
) -> Architecture:
    """Layers with ``norms`` normalisations each, between two vocabulary tables."""
    width = fields.size("hidden_size")
    return Architecture(
        family=family,
        width=width,
        vocabulary=fields.size("vocab_size"),
        tied=fields.flag("tie_word_embeddings", default=tied),
        layers=tuple(
            Layer(mixer=mixer, mlp=mlp, norms=norms * width)
            for mixer, mlp in zip(mixers, mlps, strict=True)
        ),
        max_context=fields.size("max_position_embeddings"),
        query_heads=heads.query,
        kv_heads=heads.kv,
        head_dim=heads.dim,
        mtp=mtp or Tally(),
    )
