"""One line of a look at this machine."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

State = Literal["ok", "none", "warns", "blocks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What was looked at and seen: fine, not there (no fault), a doubt, an obstacle."""

    topic: str
    state: State
    seen: str
    do: str = ""

    def to_json(self) -> dict[str, Any]:
        """The reading as plain values."""
        return asdict(self)


def judged(topic: str, seen: str, *, warns_if: bool, do: str) -> Reading:
    """A reading that is fine, or a doubt with what to do."""
    if warns_if:
        return Reading(topic=topic, state="warns", seen=seen, do=do)
    return Reading(topic=topic, state="ok", seen=seen)
