"""The operating characteristic of the goodput verdict: what it can and cannot see.

The figures are simulated beforehand, over many campaigns each, by
`benchmarks/make_operating_characteristic.py`, and stored beside this module with how they
were made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingPoint:
    """How often the claim "goodput is at least 95%" ends in each verdict.

    `goodput` is the true share; `runs` launches of `requests` each. `correlation` is that of
    one request with the next and `spread` that between launches, in standard deviations of
    the latent normal variable (`reports.stats.campaigns`). `holds` and `misses` are shares
    of `campaigns` simulated ones.
    """

    goodput: float
    requests: int
    runs: int
    correlation: float
    spread: float
    holds: float
    misses: float
    campaigns: int

    @property
    def inconclusive(self) -> float:
        """Share of campaigns that end without a verdict."""
        return 1 - self.holds - self.misses


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingCharacteristic:
    """The stored table with the sentence on how it was made."""

    made: str
    seed: int
    target: float
    points: tuple[OperatingPoint, ...]

    def select(
        self, *, requests: int, runs: int, correlation: float, spread: float
    ) -> tuple[OperatingPoint, ...]:
        """Return the points of one plan, by rising true goodput; empty where not stored."""
        asked = (requests, runs, correlation, spread)
        return tuple(
            point
            for point in self.points
            if (point.requests, point.runs, point.correlation, point.spread) == asked
        )


@cache
def operating_characteristic() -> OperatingCharacteristic:
    """Return the stored operating characteristic of the goodput verdict."""
    stored = json.loads(
        files("reports.stats").joinpath("operating_characteristic.json").read_text()
    )
    return OperatingCharacteristic(
        made=stored["made"],
        seed=stored["seed"],
        target=stored["target"],
        points=tuple(OperatingPoint(**point) for point in stored["points"]),
    )
