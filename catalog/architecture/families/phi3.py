"""Phi-3, Phi-3.5 and Phi-4: the plain decoder with fused projections and no biases."""

from __future__ import annotations

from catalog.architecture.config import Fields, windows
from catalog.architecture.dense import decoder, read_attention, read_dense, read_heads
from catalog.architecture.model import Architecture

MODEL_TYPES = ("phi3",)


def read(fields: Fields) -> Architecture:
    """Phi-3 mini and medium, Phi-4; ``sliding_window`` null or absent is full attention."""
    fields.refuse(("attention_bias", "mlp_bias", "lm_head_bias"), "Phi-3 has no biases")
    window = fields.size_or_none("sliding_window")
    kind = "full_attention" if window is None else "sliding_attention"
    heads = read_heads(fields)
    reach = windows(fields, window, [kind] * fields.layers())
    mixers = read_attention(fields, reach, heads)
    return decoder(fields, "phi3", heads, mixers, [read_dense(fields)] * len(mixers))
