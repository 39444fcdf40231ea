"""Mistral and Mixtral: no biases; every layer may slide; Mixtral routes to experts."""

from __future__ import annotations

from catalog.architecture.config import Fields, windows
from catalog.architecture.dense import decoder, read_attention, read_dense, read_heads
from catalog.architecture.mlps import Experts, Mlp
from catalog.architecture.model import Architecture, UnknownArchitecture

MODEL_TYPES = ("mistral", "mixtral")


def read(fields: Fields) -> Architecture:
    """Mistral 7B and its kin; ``sliding_window`` must be stated, if only as null."""
    if "sliding_window" not in fields.values:
        raise UnknownArchitecture(
            "config.json has no sliding_window: null and 4096 are both in use for Mistral"
        )
    window = fields.size_or_none("sliding_window")
    kind = "full_attention" if window is None else "sliding_attention"
    heads = read_heads(fields)
    reach = windows(fields, window, [kind] * fields.layers())
    mixers = read_attention(fields, reach, heads)
    return decoder(fields, "mistral", heads, mixers, [_mlp(fields)] * len(mixers))


def _mlp(fields: Fields) -> Mlp:
    if fields.values["model_type"] == "mistral":
        return read_dense(fields)
    return Experts(
        width=fields.size("hidden_size"),
        experts=fields.size("num_local_experts"),
        top_k=fields.size("num_experts_per_tok"),
        hidden=fields.size("intermediate_size"),
    )
