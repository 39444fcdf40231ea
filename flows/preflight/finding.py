"""What a look before the start says: how bad, where, what was seen, what to do."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from catalog.errors import CatalogError
from flows.errors import RunoffError

Severity = Literal["blocks", "warns"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that would fail later (``blocks``) or weaken what is measured (``warns``)."""

    severity: Severity
    where: str
    seen: str
    do: str

    def __str__(self) -> str:
        return (
            f"{self.where}: {self.seen}. {self.do}" if self.do else f"{self.where}: {self.seen}"
        )

    def to_json(self) -> dict[str, Any]:
        """The finding as plain values."""
        return asdict(self)


def blocks(where: str, seen: str, do: str) -> Finding:
    """A finding that stops a campaign before its first step."""
    return Finding(severity="blocks", where=where, seen=seen, do=do)


def warns(where: str, seen: str, do: str) -> Finding:
    """A finding that a campaign goes on with."""
    return Finding(severity="warns", where=where, seen=seen, do=do)


def of_error(error: CatalogError | RunoffError) -> Finding:
    """What an error would have said later."""
    return blocks(error.where, error.seen, error.do)
