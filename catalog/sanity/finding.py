"""What a check says: how bad, in which entry and field, what was seen, what to do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["error", "warning"]
Steps = tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A fact that contradicts another or itself; ``steps`` lead to its field in the entry."""

    severity: Severity
    kind: str
    name: str
    steps: Steps
    seen: str
    do: str

    @property
    def field(self) -> str:
        """The field as one writes it: ``compute.fp8``; empty for the entry as a whole."""
        return ".".join(str(step) for step in self.steps)
