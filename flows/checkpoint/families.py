"""How the checkpoints of each family are laid out, for the families whose names are certain.

Source: the tensor names that the Hugging Face implementation of each model_type loads, and
those of llama.cpp's architectures; read 2026-11-29.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from catalog.architecture import Architecture, UnknownArchitecture, read_config
from catalog.schema.model import Model
from flows.errors import UsageError

_TWO_NORMS: Final = ("input_layernorm", "post_attention_layernorm")
_FOUR_NORMS: Final = (*_TWO_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Names and layouts of one model_type.

    ``gguf`` is llama.cpp's architecture, None where this project writes no GGUF for it;
    ``interleaved`` says that it rotates neighbouring values, so that rows of queries and keys
    change places. ``fused`` families keep queries, keys and values in one matrix, gate and up
    in another. ``norm_offset`` is what the model adds to the stored weight of a norm;
    ``scaled_embeddings`` says that it multiplies embeddings by the root of the width.
    """

    causal_lm: str
    gguf: str | None = None
    interleaved: bool = False
    fused: bool = False
    layer_norms: tuple[str, ...] = _TWO_NORMS
    norm_offset: float = 0.0
    scaled_embeddings: bool = False
    expert_block: str = "mlp"
    expert_matrices: tuple[str, str, str] = ("gate_proj", "up_proj", "down_proj")


def _gemma(causal_lm: str, norms: tuple[str, ...]) -> Family:
    return Family(
        causal_lm=causal_lm, layer_norms=norms, norm_offset=1.0, scaled_embeddings=True
    )


FAMILIES: Final[Mapping[str, Family]] = {
    "llama": Family(causal_lm="LlamaForCausalLM", gguf="llama", interleaved=True),
    "mistral": Family(causal_lm="MistralForCausalLM", gguf="llama", interleaved=True),
    "mixtral": Family(
        causal_lm="MixtralForCausalLM",
        gguf="llama",
        interleaved=True,
        expert_block="block_sparse_moe",
        expert_matrices=("w1", "w3", "w2"),
    ),
    "qwen2": Family(causal_lm="Qwen2ForCausalLM", gguf="qwen2"),
    "qwen3": Family(causal_lm="Qwen3ForCausalLM", gguf="qwen3"),
    "qwen3_moe": Family(causal_lm="Qwen3MoeForCausalLM", gguf="qwen3moe"),
    "granite": Family(causal_lm="GraniteForCausalLM"),
    "phi3": Family(causal_lm="Phi3ForCausalLM", fused=True),
    "gemma": _gemma("GemmaForCausalLM", _TWO_NORMS),
    "gemma2": _gemma("Gemma2ForCausalLM", _FOUR_NORMS),
    "gemma3_text": _gemma("Gemma3ForCausalLM", _FOUR_NORMS),
}

_UNCERTAIN: Final = "its tensor names are not modelled here"
_REFUSED: Final[Mapping[str, str]] = {
    "gpt_oss": "it is published in MXFP4; weights in BF16 would measure another model",
    "deepseek_v3": "it is published in blocks of FP8; BF16 would measure another model",
    "kimi_k2": "it is published in blocks of FP8; BF16 would measure another model",
}


def family_of(model: Model) -> tuple[Architecture, Family]:
    """The model's architecture and the layout of its checkpoints.

    Raises
    ------
    UsageError
        Where the catalog cannot count the model or its layout is not certain, with the reason.
    """
    try:
        arch = read_config(model.config)
    except UnknownArchitecture as unknown:
        raise _no_dummy(model, unknown.reason) from None
    model_type = str(model.config["model_type"])
    if model_type not in FAMILIES:
        raise _no_dummy(model, f"{model_type}: {_REFUSED.get(model_type, _UNCERTAIN)}")
    return arch, FAMILIES[model_type]


def _no_dummy(model: Model, reason: str) -> UsageError:
    return UsageError(
        f"dummy checkpoint of {model.name}",
        reason,
        "Use checkpoint: hub or path, or the engine's own dummy weights (dummy_weights: true)",
    )
