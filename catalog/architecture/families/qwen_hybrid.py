"""Qwen3-Next and Qwen3.5: three delta-rule layers to each layer of gated attention."""

from __future__ import annotations

from catalog.architecture.config import Fields, layer_kinds
from catalog.architecture.dense import decoder, read_attention, read_dense, read_heads
from catalog.architecture.families.qwen import read_experts, sparse_layers
from catalog.architecture.mixers import Mixer
from catalog.architecture.mlps import Mlp
from catalog.architecture.model import Architecture, Layer, UnknownArchitecture
from catalog.architecture.recurrent import DeltaNet
from catalog.architecture.tally import Tally

MODEL_TYPES = ("qwen3_next", "qwen3_5_text", "qwen3_5_moe_text")

_HEAD_DIM = 256
_INTERVAL = 4
_STATE_BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}


def read(fields: Fields) -> Architecture:
    """The text part of Qwen3-Next and Qwen3.5, dense or with routed and shared experts."""
    if not fields.flag("attn_output_gate", default=True):
        raise UnknownArchitecture("attn_output_gate false is not modelled")
    fields.refuse(("attention_bias", "use_sliding_window"), "not modelled")
    heads = read_heads(fields, _HEAD_DIM)
    attention = read_attention(fields, [None], heads, gated=True, qk_norm=True)[0]
    by_kind: dict[str, Mixer] = {
        "full_attention": attention,
        "linear_attention": _delta_net(fields),
    }
    mixers = [_mixer(by_kind, kind) for kind in layer_kinds(fields, _kinds(fields))]
    mlps = _mlps(fields)
    mtp = _mtp(fields, attention, mlps[-1])
    return decoder(fields, "qwen_hybrid", heads, mixers, mlps, mtp=mtp)


def _kinds(fields: Fields) -> list[str]:
    interval = fields.size("full_attention_interval", _INTERVAL)
    return [
        "linear_attention" if (index + 1) % interval else "full_attention"
        for index in range(fields.layers())
    ]


def _mixer(by_kind: dict[str, Mixer], kind: str) -> Mixer:
    if kind not in by_kind:
        raise UnknownArchitecture(f"a layer of type {kind!r} is not modelled")
    return by_kind[kind]


def _delta_net(fields: Fields) -> DeltaNet:
    stored = fields.values.get("mamba_ssm_dtype") or "float32"
    if stored not in _STATE_BYTES:
        raise UnknownArchitecture(f"config.json: mamba_ssm_dtype is {stored!r}")
    return DeltaNet(
        width=fields.size("hidden_size"),
        key_heads=fields.size("linear_num_key_heads"),
        value_heads=fields.size("linear_num_value_heads"),
        key_dim=fields.size("linear_key_head_dim"),
        value_dim=fields.size("linear_value_head_dim"),
        conv_kernel=fields.size("linear_conv_kernel_dim"),
        state_value_bytes=_STATE_BYTES[str(stored)],
    )


def _mlps(fields: Fields) -> list[Mlp]:
    if fields.values["model_type"] == "qwen3_5_text":
        fields.refuse(("num_experts",), "experts in a dense model are not modelled")
        return [read_dense(fields)] * fields.layers()
    return sparse_layers(fields, read_experts(fields, shared=True))


def _mtp(fields: Fields, attention: Mixer, mlp: Mlp) -> Tally:
    """A layer of its own after a projection of two streams; the tables are the model's."""
    fields.refuse(("mtp_use_dedicated_embeddings",), "not modelled")
    count = fields.count("mtp_num_hidden_layers")
    width = fields.size("hidden_size")
    layer = Layer(mixer=attention, mlp=mlp, norms=2 * width).tally()
    return (layer * count + Tally(linear=2 * width**2, norms=3 * width)) * bool(count)
