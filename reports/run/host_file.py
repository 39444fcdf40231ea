"""``hosts/<id>/system.json``: what a machine says of itself; unknown is null."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from reports.run.number import Frozen


class HostFile(Frozen):
    """One host as it was found. ``facts`` is flat: name to value, for tables.

    ``order`` says what was asked for, ``differences`` what is not as ordered.
    """

    schema_version: Literal[1] = 1
    host: str
    driver: str
    seen_at: str
    facts: dict[str, Any]
    order: dict[str, Any] = Field(default_factory=dict)
    differences: tuple[str, ...] = ()
    threats: tuple[str, ...] = ()
