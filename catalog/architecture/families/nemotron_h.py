"""Nemotron-H: Mamba-2, attention and feed-forward blocks in a stated order, one per layer."""

from __future__ import annotations

from catalog.architecture.config import Fields
from catalog.architecture.dense import Heads, read_attention
from catalog.architecture.mlps import Dense
from catalog.architecture.model import Architecture, Layer, UnknownArchitecture
from catalog.architecture.recurrent import Mamba2

MODEL_TYPES = ("nemotron_h",)

_STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def read(fields: Fields) -> Architecture:
    """Nemotron-H and Nemotron Nano 2; each letter of the pattern is one block with a norm."""
    fields.refuse(
        ("attention_bias", "mlp_bias", "use_bias", "mamba_proj_bias"), "biases not modelled"
    )
    pattern = fields.values.get("hybrid_override_pattern")
    if not isinstance(pattern, str) or len(pattern) != fields.layers():
        raise UnknownArchitecture("hybrid_override_pattern does not name every layer")
    width = fields.size("hidden_size")
    heads = _heads(fields)
    blocks = {
        "M": Layer(mixer=_mamba(fields), mlp=None, norms=width),
        "*": Layer(mixer=read_attention(fields, [None], heads)[0], mlp=None, norms=width),
        "-": Layer(mixer=None, mlp=_mlp(fields), norms=width),
    }
    unknown = set(pattern) - set(blocks)
    if unknown:
        raise UnknownArchitecture(f"blocks {sorted(unknown)} of the pattern are not modelled")
    return Architecture(
        family="nemotron_h",
        width=width,
        vocabulary=fields.size("vocab_size"),
        tied=fields.flag("tie_word_embeddings", default=False),
        layers=tuple(blocks[letter] for letter in pattern),
        max_context=fields.size("max_position_embeddings"),
        query_heads=heads.query,
        kv_heads=heads.kv,
        head_dim=heads.dim,
    )


def _heads(fields: Fields) -> Heads:
    name = "attention_head_dim" if "attention_head_dim" in fields.values else "head_dim"
    return Heads(
        query=fields.size("num_attention_heads"),
        kv=fields.size("num_key_value_heads"),
        dim=fields.size(name),
    )


def _mamba(fields: Fields) -> Mamba2:
    stored = fields.values.get("mamba_ssm_cache_dtype") or "bfloat16"
    if stored not in _STATE_BYTES:
        raise UnknownArchitecture(f"config.json: mamba_ssm_cache_dtype is {stored!r}")
    return Mamba2(
        width=fields.size("hidden_size"),
        heads=fields.size("mamba_num_heads"),
        head_dim=fields.size("mamba_head_dim"),
        state_size=fields.size("ssm_state_size"),
        groups=fields.size("n_groups"),
        conv_kernel=fields.size("conv_kernel"),
        conv_bias=fields.flag("use_conv_bias", default=True),
        state_value_bytes=_STATE_BYTES[str(stored)],
    )


def _mlp(fields: Fields) -> Dense:
    if fields.values.get("mlp_hidden_act", "relu2") != "relu2":
        raise UnknownArchitecture("only the squared-ReLU feed-forward block is modelled")
    return Dense(
        width=fields.size("hidden_size"), hidden=fields.size("intermediate_size"), gated=False
    )
