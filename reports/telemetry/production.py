"""The winner's decision cell once more, at the clocks of production: its cost is from there.

Locked clocks make candidates comparable and runs repeatable; nobody serves with them. The
repetition is a load point of its own, so the two are never pooled, and decides no clause of
the contract.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from reports.run.cell_file import CellFile
from reports.run.plan_file import PRODUCTION, LoadPoint

FOLDER: Final = "production"  # of such a launch, in that of the replication that it repeats


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeat:
    """What is to be measured again with all clocks as they come, in launches of its own."""

    candidate: str
    point: LoadPoint
    replications: tuple[int, ...]


def production_point(point: LoadPoint) -> LoadPoint:
    """The same load under a name of its own."""
    return point.model_copy(update={"name": f"{point.name}{PRODUCTION}"})


def is_repetition(load_point: str) -> bool:
    """Whether a load point is another's at production clocks."""
    return load_point.endswith(PRODUCTION)


def to_repeat(winner: str, decision: LoadPoint, cells: Iterable[CellFile]) -> Repeat | None:
    """What is left to repeat of the winner; None where no clock was locked, or all is there.

    As many replications as decided it: fewer would have a wider interval than the claim.
    """
    own = [each for each in cells if each.candidate == winner]
    locked = {
        each.replication
        for each in own
        if each.load_point == decision.name and each.clocks == "locked"
    }
    repeated = production_point(decision)
    there = {
        each.replication
        for each in own
        if each.load_point == repeated.name and each.clocks == "production"
    }
    missing = tuple(sorted(locked - there))
    if not missing:
        return None
    return Repeat(candidate=winner, point=repeated, replications=missing)
