"""From a config.json to an Architecture, through the family that its model_type names."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache

from catalog.architecture import families
from catalog.architecture.config import Fields
from catalog.architecture.model import Architecture, UnknownArchitecture

Reader = Callable[[Fields], Architecture]

_OTHER_PARTS = ("vision_config", "audio_config", "text_config", "thinker_config")
_STRUCTURE = ("is_encoder_decoder", "block_configs", "pruned_heads", "cross_attention_layers")


def read_config(config: Mapping[str, object]) -> Architecture:
    """Architecture that a Hugging Face config.json states.

    Raises UnknownArchitecture with the reason where the model_type is not modelled, a field
    is missing or odd, or an option changes the arithmetic in a way that is not modelled.
    """
    fields = Fields(config)
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        raise UnknownArchitecture("config.json has no model_type")
    _refuse_other_shapes(fields)
    reader = known_families().get(model_type)
    if reader is None:
        known = ", ".join(sorted(known_families()))
        raise UnknownArchitecture(f"model_type {model_type!r} is not modelled (known: {known})")
    return reader(fields)


@cache
def known_families() -> Mapping[str, Reader]:
    """Reader of each model_type, found by scanning the folder of families."""
    readers: dict[str, Reader] = {}
    for module in pkgutil.iter_modules(families.__path__):
        family = importlib.import_module(f"{families.__name__}.{module.name}")
        readers.update(dict.fromkeys(family.MODEL_TYPES, family.read))
    return readers


def _refuse_other_shapes(fields: Fields) -> None:
    fields.refuse(
        _OTHER_PARTS,
        "parts beside the language model are not modelled; give the text part alone",
    )
    fields.refuse(_STRUCTURE, "layers that differ in this way are not modelled")
    names = fields.texts("architectures")
    if names and not any(name.endswith("ForCausalLM") for name in names):
        raise UnknownArchitecture(
            f"config.json: {', '.join(names)[:60]} is not a causal language model"
        )
