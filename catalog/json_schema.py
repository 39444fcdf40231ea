"""JSON Schema of every kind of file, made from the models that read them."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel

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

    A ``runtime.yaml`` holds more than its capabilities: other keys are left open.
    """
    schema = _MODELS[kind].model_json_schema()
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
