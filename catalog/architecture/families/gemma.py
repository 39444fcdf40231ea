"""Gemma 1 to 3 (text): a tied vocabulary, extra norms, most layers sliding since Gemma 2."""

from __future__ import annotations

from catalog.architecture.config import Fields, windows
from catalog.architecture.dense import decoder, full, read_attention, read_dense, read_heads
from catalog.architecture.model import Architecture

MODEL_TYPES = ("gemma", "gemma2", "gemma3_text")

_HEAD_DIM = 256
_PATTERN = 6  # Gemma 3: five sliding layers, then a full one


def read(fields: Fields) -> Architecture:
    """Gemma 2 slides in every other layer, Gemma 3 in five of six; both norm in and out."""
    fields.refuse(("attention_bias", "use_bidirectional_attention"), "not modelled")
    version = fields.values["model_type"]
    heads = read_heads(fields, _HEAD_DIM)
    window = None if version == "gemma" else fields.size("sliding_window")
    reach = windows(fields, window, _kinds(fields))
    mixers = read_attention(fields, reach, heads, qk_norm=version == "gemma3_text")
    norms = 2 if version == "gemma" else 4
    mlps = [read_dense(fields)] * len(mixers)
    return decoder(fields, "gemma", heads, mixers, mlps, norms=norms, tied=True)


def _kinds(fields: Fields) -> list[str]:
    version = fields.values["model_type"]
    if version == "gemma":
        return full(fields)
    pattern = 2 if version == "gemma2" else fields.size("sliding_window_pattern", _PATTERN)
    return [
        "sliding_attention" if (index + 1) % pattern else "full_attention"
        for index in range(fields.layers())
    ]
