"""Llama and Granite: the plain decoder, with biases where the config asks for them."""

from __future__ import annotations

from catalog.architecture.config import Fields, windows
from catalog.architecture.dense import decoder, full, read_attention, read_dense, read_heads
from catalog.architecture.model import Architecture

MODEL_TYPES = ("llama", "granite")


def read(fields: Fields) -> Architecture:
    """Llama 2 to 3.3 and models of the same shape; Granite scales activations besides."""
    heads = read_heads(fields)
    bias = fields.flag("attention_bias", default=False)
    reach = windows(fields, None, full(fields))
    mixers = read_attention(fields, reach, heads, qkv_bias=bias, output_bias=bias)
    mlp = read_dense(fields, bias=fields.flag("mlp_bias", default=False))
    return decoder(fields, "llama", heads, mixers, [mlp] * len(mixers))
