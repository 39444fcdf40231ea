"""Which part of a model a tensor belongs to, by its name."""

from __future__ import annotations

import re
from typing import Literal

TensorClass = Literal["embedding", "head", "norms", "experts", "extra", "other"]

_LAYER = re.compile(r"(?:^|\.)(?:layers|blk|h)\.(\d+)\.")
_EMBEDDING = {"embed_tokens", "tok_embeddings", "token_embd", "word_embeddings", "wte"}
_HEAD = {"lm_head", "embed_out"}
_BESIDE = {
    "vision_tower", "vision_model", "visual", "multi_modal_projector", "audio_tower", "mtp"
}  # fmt: skip
_GGUF_BESIDE = {"v", "mm", "a"}  # vision, projector and audio tensors begin so


def tensor_class(name: str, layers: int | None) -> TensorClass:
    """The class of a tensor in safetensors or GGUF naming.

    ``extra`` is what a text-only server without speculation does not read: other
    modalities, and layers from number ``layers`` on (multi-token prediction).
    """
    parts = name.split(".")
    layer = _LAYER.search(name)
    beyond = layer is not None and layers is not None and int(layer[1]) >= layers
    if beyond or parts[0] in _GGUF_BESIDE or not _BESIDE.isdisjoint(parts):
        return "extra"
    if not _EMBEDDING.isdisjoint(parts) or parts[:2] == ["backbone", "embeddings"]:
        return "embedding"
    if not _HEAD.isdisjoint(parts) or parts[0] == "output":
        return "head"
    if "experts" in parts or any(part.endswith("_exps") for part in parts):
        return "experts"
    if any("norm" in part or part.startswith("ln_") for part in parts):
        return "norms"
    return "other"
