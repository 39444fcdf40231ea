"""The operating characteristic of the goodput verdict: what it can and cannot see.

The figures are simulated beforehand, thousands of campaigns each, by
`benchmarks/make_operating_characteristic.py`, and stored beside this module with how they
were made.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import groupby
from typing import Final

# Correlation of successive requests and spread between launches, on the latent scale.
CONDITIONS: Final = {
    (0.0, 0.0): "independent",
    (0.8, 0.1): "clustered",
    (0.9, 0.3): "rough",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingPoint:
    """How often the claim "goodput is at least 95%" ends in each verdict.

    `goodput` is the true share; `runs` launches of `requests` each. `correlation` is that of
    one request with the next and `spread` that between launches, in standard deviations of
    the latent normal variable (`reports.stats.campaigns`). `holds` and `misses` are shares
    of all simulated campaigns.
    """

    requests: int
    runs: int
    correlation: float
    spread: float
    goodput: float
    holds: float
    misses: float

    @property
    def inconclusive(self) -> float:
        """Share of campaigns that end without a verdict."""
        return 1 - self.holds - self.misses


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatingCharacteristic:
    """The stored table, in how many campaigns each point was seen, and how it was made."""

    made: str
    seed: int
    target: float
    campaigns: int
    points: tuple[OperatingPoint, ...]

    def of_plan(self, requests: int, runs: int) -> tuple[OperatingPoint, ...]:
        """Return the points of the largest stored plan that asks for no more than this one.

        Ordered by correlation and spread, then by the true goodput; empty for plans smaller
        than any stored one.
        """
        smaller = [
            point for point in self.points if point.requests <= requests and point.runs <= runs
        ]
        if not smaller:
            return ()
        largest = max((point.requests, point.runs) for point in smaller)
        return tuple(point for point in smaller if (point.requests, point.runs) == largest)


def operating_rows(points: Sequence[OperatingPoint]) -> list[tuple[str, ...]]:
    """Return a table in words: a head, then a row of each plan under each condition.

    Cells are the percentages of campaigns that end in "holds" / "misses".
    """
    goodputs = sorted({point.goodput for point in points})
    rows = [("launches × requests", "condition", *(f"{goodput:.1%}" for goodput in goodputs))]
    for (requests, runs, correlation, spread), group in groupby(points, key=_plan):
        name = CONDITIONS.get((correlation, spread), f"{correlation:g}, {spread:g}")
        cells = (f"{_percent(point.holds)} / {_percent(point.misses)}" for point in group)
        rows.append((f"{runs} × {requests}", name, *cells))
    return rows


def _plan(point: OperatingPoint) -> tuple[int, int, float, float]:
    return point.requests, point.runs, point.correlation, point.spread


def _percent(share: float) -> str:
    """Simulated shares are never certain: no 0 and no 100."""
    if share < 0.005:
        return "<1"
    return ">99" if share >= 0.995 else f"{100 * share:.0f}"


@cache
def operating_characteristic() -> OperatingCharacteristic:
    """Return the stored operating characteristic of the goodput verdict."""
    text = files("reports.stats").joinpath("operating_characteristic.json").read_text()
    stored = json.loads(text)
    points = [dict(zip(stored["columns"], row, strict=True)) for row in stored["rows"]]
    return OperatingCharacteristic(
        made=stored["made"],
        seed=stored["seed"],
        target=stored["target"],
        campaigns=stored["campaigns"],
        points=tuple(OperatingPoint(**point) for point in points),
    )
