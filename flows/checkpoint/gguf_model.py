"""A model as llama.cpp names and stores it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from catalog.architecture.mlps import Experts
from flows.checkpoint.families import Family
from flows.checkpoint.gguf import Placed, Value
from flows.checkpoint.recipe import Recipe
from flows.checkpoint.tensors import Tensor
from flows.checkpoint.values import STORAGES
from flows.errors import UsageError

# The file's own word for its most frequent type.
_FILE_TYPES: Final[Mapping[str, int]] = {"F16": 1, "Q8_0": 7, "BF16": 32}
_QUANTISATION_VERSION: Final = 2
_ROUTER: Final = "ffn_gate_inp"
_EXPERTS: Final = ("ffn_gate_exps", "ffn_up_exps", "ffn_down_exps")
_TABLES: Final = {
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
    "lm_head": "output",
}
_IN_LAYER: Final = {
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "self_attn.q_norm": "attn_q_norm",
    "self_attn.k_norm": "attn_k_norm",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
_LAYER: Final = re.compile(r"model\.layers\.(\d+)\.(.+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class GgufTensor:
    """One tensor of the file and the tensors of ours that follow one another in it.

    ``interleave`` is the head dimension where rows of queries and keys change places, else 0.
    """

    placed: Placed
    sources: tuple[Tensor, ...]
    interleave: int


def gguf_tensors(recipe: Recipe) -> tuple[GgufTensor, ...]:
    """The tensors under llama.cpp's names; the experts of a layer are one tensor.

    Raises
    ------
    UsageError
        For a model that llama.cpp, or this writer, has no layout for.
    """
    architecture_name(recipe)
    grouped: dict[str, list[Tensor]] = {}
    for tensor in recipe.tensors:
        grouped.setdefault(gguf_name(tensor.name, recipe.family), []).append(tensor)
    return tuple(_tensor(recipe, name, tuple(own)) for name, own in grouped.items())


def metadata(recipe: Recipe) -> dict[str, Value]:
    """What the file says of itself and of the architecture."""
    name = architecture_name(recipe)
    return {
        "general.architecture": name,
        "general.name": recipe.model.name,
        "general.description": recipe.description,
        "general.file_type": _FILE_TYPES[recipe.storage.name],
        "general.quantization_version": _QUANTISATION_VERSION,
        **{f"{name}.{key}": value for key, value in _sizes(recipe).items()},
    }


def architecture_name(recipe: Recipe) -> str:
    """llama.cpp's name of the architecture; UsageError where there is none that fits."""
    name = recipe.family.gguf
    if name is None:
        raise _refused(recipe, f"no GGUF is written for {recipe.config['model_type']}")
    if name == "llama" and recipe.config.get("sliding_window"):
        raise _refused(recipe, "llama.cpp's llama architecture has no sliding window")
    if recipe.config.get("rope_scaling"):
        raise _refused(recipe, "its rope_scaling is not written into GGUF files")
    if len(recipe.arch.groups) > 1:
        raise _refused(recipe, "its layers differ from one another")
    return name


def gguf_name(name: str, family: Family) -> str:
    """llama.cpp's name of a tensor of ours."""
    stem, _, kind = name.rpartition(".")
    layer = _LAYER.fullmatch(stem)
    if layer is None:
        return f"{_TABLES[stem]}.{kind}"
    return f"blk.{layer[1]}.{_in_layer(layer[2], family)}.{kind}"


def _in_layer(stem: str, family: Family) -> str:
    if stem == f"{family.expert_block}.gate":
        return _ROUTER
    if ".experts." in stem:
        return _EXPERTS[family.expert_matrices.index(stem.rpartition(".")[2])]
    return _IN_LAYER[stem]


def _sizes(recipe: Recipe) -> dict[str, Value]:
    arch, config = recipe.arch, recipe.config
    values: dict[str, Value] = {
        "block_count": len(arch.layers),
        "context_length": arch.max_context,
        "embedding_length": arch.width,
        "feed_forward_length": int(config["intermediate_size"]),
        "attention.head_count": arch.query_heads,
        "attention.head_count_kv": arch.kv_heads,
        "attention.key_length": arch.head_dim,
        "attention.value_length": arch.head_dim,
        "attention.layer_norm_rms_epsilon": float(config["rms_norm_eps"]),
        "rope.dimension_count": arch.head_dim,
        "rope.freq_base": float(config["rope_theta"]),
        "vocab_size": arch.vocabulary,
    }
    mlp = arch.layers[0].mlp
    if isinstance(mlp, Experts):
        values |= {"expert_count": mlp.experts, "expert_used_count": mlp.top_k}
        values |= {"expert_feed_forward_length": mlp.hidden}
    return values


def _tensor(recipe: Recipe, name: str, sources: tuple[Tensor, ...]) -> GgufTensor:
    shape, part = sources[0].shape, name.split(".")[-2]
    plain = len(shape) == 1 or part == _ROUTER
    storage = STORAGES["F32"] if plain else recipe.storage
    if shape[-1] % storage.block:
        raise _refused(recipe, f"rows of {shape[-1]} are not in blocks of {storage.block}")
    stacked = (len(sources),) if part in _EXPERTS else ()
    placed = Placed(
        name=name,
        dimensions=(*reversed(shape), *stacked),
        storage=storage,
        values=sum(source.values for source in sources),
    )
    turned = recipe.family.interleaved and part in ("attn_q", "attn_k")
    return GgufTensor(
        placed=placed, sources=sources, interleave=recipe.arch.head_dim if turned else 0
    )


def _refused(recipe: Recipe, reason: str) -> UsageError:
    return UsageError(
        f"dummy GGUF of {recipe.model.name}", reason, "Use format hf, or a GGUF file of yours"
    )
