"""A rate that was not measured, answered by the measured ones around it or not at all."""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose
from typing import Final

from reports.contract_words import stated
from reports.decide.held import held_bracket
from reports.decide.production import own_cells
from reports.run.plan_file import ContractFacts, LoadPoint
from reports.run.summary_file import CandidateSummary, Summary
from reports.run.whatif_file import Answer, AtRate

UNKNOWN: Final = "unknown: not measured"


def measured_points(summary: Summary) -> Mapping[str, LoadPoint]:
    """Every load point at which any candidate was measured, by name; lightest first."""
    found = {
        cell.point.name: cell.point
        for each in summary.candidates
        for cell in own_cells(each)
        if cell.point is not None
    }
    order = sorted(
        found.values(), key=lambda p: (p.is_open, p.rate_per_s or p.concurrency or 0)
    )
    return {each.name: each for each in order}


def points_at(summary: Summary, rate_per_s: float) -> tuple[LoadPoint, ...]:
    """The measured load points of exactly that rate, in requests per second."""
    return tuple(
        each
        for each in measured_points(summary).values()
        if each.rate_per_s is not None and isclose(each.rate_per_s, rate_per_s)
    )


def answers_at(
    summary: Summary, contract: ContractFacts, rate_per_s: float
) -> tuple[AtRate, ...]:
    """Return for every measured candidate what the measured rates say of this one.

    A rate that is held proves the lower ones, one that is missed the higher ones: between
    the two, and beyond the last, nothing is known.
    """
    return tuple(_at_rate(e, contract, rate_per_s) for e in summary.candidates if e.cells)


def answers_without(
    summary: Summary, contract: ContractFacts, point: LoadPoint
) -> tuple[AtRate, ...]:
    """Return the same for every measured candidate that has no cell at this load point."""
    lacking = [e for e in summary.candidates if e.cells and e.cell(point.name) is None]
    if point.rate_per_s is not None and point.max_in_flight is None:
        return tuple(_at_rate(each, contract, point.rate_per_s) for each in lacking)
    why = f"it was not measured at {point.name}"
    return tuple(AtRate(candidate=e.name, answer=UNKNOWN, why=why) for e in lacking)


def _at_rate(found: CandidateSummary, contract: ContractFacts, rate_per_s: float) -> AtRate:
    bracket = held_bracket(found, contract)
    proven = None if bracket is None else bracket.highest_proven
    missed = None if bracket is None else bracket.lowest_disproven
    answer: Answer = UNKNOWN
    if proven is not None and rate_per_s <= proven:
        answer, why = "holds", f"it is proven to hold {stated(proven)}/s"
    elif missed is not None and rate_per_s >= missed:
        answer, why = "misses", f"it misses at {stated(missed)}/s already"
    else:
        why = _around(proven, missed)
    return AtRate(candidate=found.name, answer=answer, why=why)


def _around(proven: float | None, missed: float | None) -> str:
    if proven is None and missed is None:
        return "of no measured rate is it shown whether it holds"
    below = "no rate is proven" if proven is None else f"proven up to {stated(proven)}/s"
    above = "no rate is missed" if missed is None else f"missed from {stated(missed)}/s on"
    return f"{below}, {above}"
