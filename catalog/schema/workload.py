"""A use case: lengths, limits and arrivals that a new campaign starts from, with reasons."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from catalog.schema.fields import Strict

Plain = str | int | list[str | int] | dict[str, Any]


class Reasoned(Strict):
    """A value as it will stand in the campaign file, and why it is a fair first guess."""

    value: Plain
    because: str


class Workload(Strict):
    """One use case of ``runoff init``; every value is written with its reason as a comment."""

    name: str
    title: str
    question: str
    model: Reasoned
    prompt_tokens: Reasoned
    cached_prefix_tokens: Reasoned | None = None
    output_tokens: Reasoned
    load: dict[str, Reasoned] = Field(min_length=1)
    slo: dict[str, Reasoned] = Field(default_factory=dict)
    matrix: dict[str, Reasoned] = Field(default_factory=dict)
    candidates: tuple[Reasoned, ...] = Field(min_length=1)
