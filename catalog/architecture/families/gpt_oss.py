"""gpt-oss: biased attention with sinks, every other layer sliding, biased experts."""

from __future__ import annotations

from catalog.architecture.config import Fields, windows
from catalog.architecture.dense import decoder, read_attention, read_heads
from catalog.architecture.mlps import Experts
from catalog.architecture.model import Architecture, UnknownArchitecture

MODEL_TYPES = ("gpt_oss",)


def read(fields: Fields) -> Architecture:
    """gpt-oss 20b and 120b; sliding and full layers alternate unless layer_types says."""
    if not fields.flag("attention_bias", default=True):
        raise UnknownArchitecture("gpt-oss without attention biases is not modelled")
    heads = read_heads(fields, 64)
    alternating = [
        "full_attention" if index % 2 else "sliding_attention"
        for index in range(fields.layers())
    ]
    reach = windows(fields, fields.size("sliding_window"), alternating)
    mixers = read_attention(fields, reach, heads, qkv_bias=True, output_bias=True, sinks=True)
    experts = Experts(
        width=fields.size("hidden_size"),
        experts=fields.size("num_local_experts"),
        top_k=fields.size("num_experts_per_tok"),
        hidden=fields.size("intermediate_size"),
        router_bias=True,
        expert_bias=True,
    )
    return decoder(fields, "gpt_oss", heads, mixers, [experts] * len(mixers))
