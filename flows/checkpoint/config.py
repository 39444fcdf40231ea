"""The config.json of a dummy: the catalog's fields, and stated defaults for all others."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from catalog.architecture import Architecture
from flows.checkpoint.families import Family
from flows.checkpoint.vocabulary import Vocabulary

_DEFAULTS: Final[Mapping[str, Any]] = {
    "hidden_act": "silu",
    "initializer_range": 0.02,
    "rms_norm_eps": 1e-5,
    "rope_theta": 10000.0,
    "use_cache": True,
}


def assumed_fields(
    config: Mapping[str, Any], arch: Architecture, family: Family, words: Vocabulary
) -> dict[str, Any]:
    """Fields that the catalog does not state and the dummy needs; none changes the shapes.

    They can change what is computed (rotation, scaling of logits), never how much.
    """
    wanted = {
        **_DEFAULTS,
        "architectures": [family.causal_lm],
        "bos_token_id": words.bos,
        "eos_token_id": words.eos,
        "head_dim": arch.head_dim,
        "num_key_value_heads": arch.kv_heads,
        "tie_word_embeddings": arch.tied,
        **_own(str(config["model_type"]), arch, words),
    }
    return {key: value for key, value in wanted.items() if config.get(key) is None}


def completed_config(config: Mapping[str, Any], assumed: Mapping[str, Any]) -> dict[str, Any]:
    """The whole config.json; weights are always stored in BF16."""
    return {**config, **assumed, "torch_dtype": "bfloat16"}


def generation_config(words: Vocabulary) -> dict[str, Any]:
    """The content of generation_config.json: special ids, and no sampling of its own."""
    return {"bos_token_id": words.bos, "eos_token_id": words.eos, "do_sample": False}


def _own(model_type: str, arch: Architecture, words: Vocabulary) -> dict[str, Any]:
    """Fields that one family needs beside the common ones."""
    if model_type == "granite":
        return {"attention_multiplier": 1 / math.sqrt(arch.head_dim)}
    if model_type == "qwen3_moe":
        return {"norm_topk_prob": True}  # as published; llama.cpp knows no other way
    if model_type == "phi3":
        context = {"original_max_position_embeddings": arch.max_context}
        return {"pad_token_id": words.eos, **context}
    if model_type.startswith("gemma"):
        activation = "gelu_pytorch_tanh"
        return {
            "hidden_act": activation,
            "hidden_activation": activation,
            "query_pre_attn_scalar": arch.head_dim,
        }
    return {}
