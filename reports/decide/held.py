"""The highest rate that holds the contract: [highest proven, lowest disproven].

Every open cell on launches and seeds of its own counts, those that a search has proposed
among them; the search's own tries do not. A rate above one that is disproven proves nothing:
so much is taken from the order of loads, and it never flatters.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from reports.decide.production import own_cells
from reports.run.decision_file import Bracket
from reports.run.plan_file import ContractFacts
from reports.run.summary_file import CandidateSummary, CellSummary, CellVerdict

NO_EVIDENCE: Final[Mapping[CellVerdict, str]] = {
    "client-bound": "the load client was too slow",
    "invalid": "the cell is invalid",
    "not-steady": "the cell drifted while it was measured",
}


def held_bracket(found: CandidateSummary, contract: ContractFacts) -> Bracket | None:
    """Return the bracket in requests per second; None where no rate was measured."""
    cells = list(_open_cells(found))
    if not cells:
        return None
    missed = [rate for rate, cell in cells if _misses(cell)]
    lowest = min(missed, default=None)
    proven = [
        rate
        for rate, cell in cells
        if holds(cell, contract) and (lowest is None or rate < lowest)
    ]
    return Bracket(highest_proven=max(proven, default=None), lowest_disproven=lowest)


def held_cell(found: CandidateSummary, bracket: Bracket | None) -> CellSummary | None:
    """Return the cell that proved the highest rate."""
    if bracket is None or bracket.highest_proven is None:
        return None
    return next(cell for rate, cell in _open_cells(found) if rate == bracket.highest_proven)


def why_none_proven(found: CandidateSummary | None) -> str:
    """What became of the rates that were measured; empty where none was."""
    cells = [] if found is None else [cell for _, cell in _open_cells(found)]
    if not cells:
        return ""
    said = f"{len(cells)} rate{'s' if len(cells) != 1 else ''} measured"
    void = [NO_EVIDENCE[cell.verdict] for cell in cells if cell.verdict in NO_EVIDENCE]
    because = "; ".join(dict.fromkeys(void))
    if len(void) == len(cells):
        return f"{said}, {'all ' if len(cells) > 1 else ''}void: {because}"
    return f"{said}, none proven{f'; {len(void)} void: {because}' if void else ''}"


def holds(cell: CellSummary, contract: ContractFacts) -> bool:
    """Whether a valid cell holds every clause on latency and goodput, one of them at least."""
    names = ("ttft", "itl", "goodput", *(("throughput",) if contract.offline else ()))
    verdicts = [cell.clauses[name].verdict for name in names if name in cell.clauses]
    stated = [verdict for verdict in verdicts if verdict != "no such clause"]
    return cell.verdict == "valid" and bool(stated) and set(stated) == {"holds"}


def _misses(cell: CellSummary) -> bool:
    return cell.verdict == "valid" and any(
        clause.verdict == "misses" for clause in cell.clauses.values()
    )


def _open_cells(found: CandidateSummary) -> Iterator[tuple[float, CellSummary]]:
    """Cells with a rate; one that is capped as well loads the server less freely."""
    for cell in own_cells(found):
        point = cell.point
        if point is not None and point.is_open and point.rate_per_s is not None:
            yield point.rate_per_s, cell
