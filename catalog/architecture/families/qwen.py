"""Qwen 2, 2.5 and 3: biases on queries, keys and values, later norms on queries and keys."""

from __future__ import annotations

from catalog.architecture.config import Fields, windows
from catalog.architecture.dense import decoder, full, read_attention, read_dense, read_heads
from catalog.architecture.mixers import Mixer
from catalog.architecture.mlps import Experts, Mlp
from catalog.architecture.model import Architecture

MODEL_TYPES = ("qwen2", "qwen3", "qwen3_moe")

_HEAD_DIM = 128  # Qwen3's default where the config states none


def read(fields: Fields) -> Architecture:
    """Dense Qwen 2 to 3, and Qwen 3 with routed experts."""
    fields.refuse(
        ("use_sliding_window",), "engines disagree on which layers slide: not modelled"
    )
    older = fields.values["model_type"] == "qwen2"
    heads = read_heads(fields, None if older else _HEAD_DIM)
    bias = fields.flag("attention_bias", default=False)
    mixers: list[Mixer] = read_attention(
        fields,
        windows(fields, None, full(fields)),
        heads,
        qkv_bias=older or bias,
        output_bias=bias and not older,
        qk_norm=not older,
    )
    return decoder(fields, "qwen", heads, mixers, _mlps(fields))


def _mlps(fields: Fields) -> list[Mlp]:
    if fields.values["model_type"] != "qwen3_moe":
        return [read_dense(fields)] * fields.layers()
    fields.refuse(("shared_expert_intermediate_size",), "Qwen3-MoE has no shared expert")
    return sparse_layers(fields, read_experts(fields))


def read_experts(fields: Fields, *, shared: bool = False) -> Experts:
    """Routed experts, and the gated expert that all tokens share in Qwen3-Next."""
    return Experts(
        width=fields.size("hidden_size"),
        experts=fields.size("num_experts"),
        top_k=fields.size("num_experts_per_tok"),
        hidden=fields.size("moe_intermediate_size"),
        shared_hidden=fields.size("shared_expert_intermediate_size") if shared else 0,
        shared_gate=shared,
    )


def sparse_layers(fields: Fields, experts: Experts) -> list[Mlp]:
    """Experts in every ``decoder_sparse_step``-th layer, dense where the config says so."""
    step = fields.size("decoder_sparse_step", 1)
    dense_at = set(fields.numbers("mlp_only_layers"))
    return [
        read_dense(fields) if index in dense_at or (index + 1) % step else experts
        for index in range(fields.layers())
    ]
