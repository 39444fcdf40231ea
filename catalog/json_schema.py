"""JSON Schema of every kind of file, made from the models that read them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

from catalog.meanings import MEANINGS
from catalog.schema import Campaign, Device, Link, Model, OfferFile, Runtime

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_MODELS: dict[str, type[BaseModel]] = {
    "campaign": Campaign,
    "device": Device,
    "link": Link,
    "model": Model,
    "offers": OfferFile,
    "runtime": Runtime,
}
KINDS = tuple(_MODELS)


def json_schema(kind: str) -> dict[str, Any]:
    """The schema of one kind of file (one of ``KINDS``).

    A ``runtime.yaml`` holds more than its capabilities: other keys are left open. A campaign's
    keys carry their meanings, which editors show.
    """
    schema = _MODELS[kind].model_json_schema()
    if kind == "campaign":
        _explain(schema)
    if kind == "runtime":
        definitions = schema.pop("$defs", {})
        schema = {
            "type": "object",
            "title": "runtime.yaml",
            "required": ["capabilities"],
            "properties": {"capabilities": schema},
            "$defs": definitions,
        }
    return {"$schema": DIALECT, **schema}


def _explain(schema: dict[str, Any]) -> None:
    for name, part in {"Campaign": schema, **schema["$defs"]}.items():
        for key, about in part.get("properties", {}).items():
            if (meaning := MEANINGS.get(name, {}).get(key)) is not None:
                about["description"] = meaning
