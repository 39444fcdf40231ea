"""A number with everything that it rests on, or the reason why there is none."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from catalog.quantity import Basis

NOT_OFFERED = "not offered by this version"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """A value, or the limits between which it must lie, from ``n`` observations.

    Limits with a ``level`` hold, each at that level; without one they hold for certain.
    ``value`` None: only the limits are known; ``high`` None: nothing bounds it from above.
    An ``is_estimate`` was not observed but follows from what was.
    """

    unit: str
    basis: Basis
    method: str
    n: int
    value: float | None = None
    low: float | None = None
    high: float | None = None
    level: float | None = None
    is_estimate: bool = False

    def to_json(self) -> dict[str, Any]:
        """The figure as JSON values."""
        return {**asdict(self), "basis": self.basis.value}


@dataclass(frozen=True, slots=True, kw_only=True)
class Unavailable:
    """Why there is no number: what the release lacks, or which series is not there."""

    reason: str
    series: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The absence as JSON values, under the keys that a figure would have."""
        return {"value": None, "not_available": self.reason, "series": self.series}


Found = Figure | Unavailable


def absent(series: str | None) -> Unavailable:
    """The absence of a series that the release names, or of one that it does not have."""
    if series is None:
        return Unavailable(reason=NOT_OFFERED)
    return Unavailable(reason="not available: the server does not show it", series=series)
