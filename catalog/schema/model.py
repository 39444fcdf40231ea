"""A model: its config.json fields, its checkpoints, and the precision that is its reference."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from catalog.schema.fields import Day, Flag, Strict, Whole


class Checkpoint(Strict):
    """Published weights in one precision; gated: a licence must be accepted, None: unknown."""

    name: str
    precision: str
    gated: Flag | None = None


class Model(Strict):
    """Architecture fields as the checkpoint's config.json has them; counts are computed."""

    name: str
    aliases: tuple[str, ...] = ()
    checkpoints: tuple[Checkpoint, ...] = ()
    reference_precision: str = "bfloat16"
    source: str
    date: Day | None = None
    verified: Flag = False
    parameters_published: Whole | None = Field(default=None, ge=1)
    config: dict[str, Any]
    notes: tuple[str, ...] = ()
