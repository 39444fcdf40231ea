"""One server's account of a cell: everything that it told, and what it did not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from flows.collect.figure import Found, Unavailable
from flows.collect.source import Source


@dataclass(frozen=True, slots=True, kw_only=True)
class GaugeFigures:
    """A gauge before, during and after; the mean is over the measured window."""

    before: float | None
    mean: Found
    most: Found
    after: float | None

    def to_json(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return {
            "before": self.before,
            "mean": self.mean.to_json(),
            "most": self.most.to_json(),
            "after": self.after,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerAccount:
    """One server: who it is, and everything that it told, in our quantities and units.

    ``counted`` is over the whole cell, warm-up among it, from idle to idle; ``client`` the
    client's sums over the same requests. ``times`` are of requests that ended after the
    window began.
    """

    endpoint: str
    source: Source | None
    readings: int
    gauges: Mapping[str, GaugeFigures]
    counted: Mapping[str, Found]
    times: Mapping[str, Mapping[str, Found]]
    shares: Mapping[str, Found]
    missing: Mapping[str, Unavailable]
    client: Mapping[str, float]

    def to_json(self) -> dict[str, Any]:
        """The account as JSON values; names are those of ``OBSERVABLES``."""
        return {
            "endpoint": self.endpoint,
            "source": None if self.source is None else self.source.to_json(),
            "readings": self.readings,
            "gauges": {name: found.to_json() for name, found in self.gauges.items()},
            "counted": {name: found.to_json() for name, found in self.counted.items()},
            "times": {
                name: {key: found.to_json() for key, found in figures.items()}
                for name, figures in self.times.items()
            },
            "shares": {name: found.to_json() for name, found in self.shares.items()},
            "missing": {name: found.to_json() for name, found in self.missing.items()},
            "client": dict(self.client),
        }
