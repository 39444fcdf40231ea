"""All that decides the bytes of a dummy, put together once."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from catalog.architecture import Architecture
from catalog.schema.model import Model
from flows.checkpoint.config import assumed_fields, completed_config
from flows.checkpoint.families import Family, family_of
from flows.checkpoint.manifest import json_bytes
from flows.checkpoint.tensors import Tensor, model_tensors
from flows.checkpoint.tokenizer import tokenizer_json
from flows.checkpoint.values import STORAGES, Storage
from flows.checkpoint.vocabulary import Vocabulary, vocabulary

Format = Literal["hf", "gguf-f16", "gguf-bf16", "gguf-q8_0"]

METHOD_VERSION: Final = 1  # raised whenever the bytes of any dummy change
_STORAGE: Final[Mapping[Format, str]] = {
    "hf": "BF16",
    "gguf-f16": "F16",
    "gguf-bf16": "BF16",
    "gguf-q8_0": "Q8_0",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """A model's layout, vocabulary and config in one format, and the seed of its values."""

    model: Model
    format: Format
    seed: int
    arch: Architecture
    family: Family
    words: Vocabulary
    config: Mapping[str, Any]
    assumed: Mapping[str, Any]
    tensors: tuple[Tensor, ...]

    @property
    def storage(self) -> Storage:
        """How matrices are stored."""
        return STORAGES[_STORAGE[self.format]]

    @property
    def description(self) -> str:
        """What a file says of itself."""
        return f"dummy weights of {self.model.name}: random, seed {self.seed}, made by runoff"

    def key(self) -> str:
        """SHA-256 over everything that decides the bytes."""
        parts = {
            "method_version": METHOD_VERSION,
            "model": self.model.name,
            "format": self.format,
            "seed": self.seed,
            "config": dict(self.config),
            "tokenizer": hashlib.sha256(json_bytes(tokenizer_json(self.words))).hexdigest(),
        }
        return hashlib.sha256(json_bytes(parts)).hexdigest()


def recipe(model: Model, form: Format, seed: int) -> Recipe:
    """The recipe of a dummy; UsageError for a model that no dummy can stand for."""
    arch, family = family_of(model)
    words = vocabulary(model.config, arch.vocabulary)
    assumed = assumed_fields(model.config, arch, family, words)
    return Recipe(
        model=model,
        format=form,
        seed=seed,
        arch=arch,
        family=family,
        words=words,
        config=completed_config(model.config, assumed),
        assumed=assumed,
        tensors=tuple(model_tensors(arch, family)),
    )
