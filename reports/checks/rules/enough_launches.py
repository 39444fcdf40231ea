"""There are enough independent launches to tell how much they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reports.checks.evidence import Cell, Evidence, Seen
from reports.run.checks_file import Check
from reports.run.plan_file import CandidateFacts
from reports.run.summary_file import CellSummary

LEAST: Final = 3


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell that decides, how many launches it rests on."""
    plan = evidence.files.plan
    for cell in evidence.cells():
        if cell.decides:
            yield cell.check(
                "enough-launches",
                "A decision rests on several launches of the server",
                f"{LEAST} at least, each a launch of its own",
                _seen(cell, plan.matrix.replications, exploratory=plan.exploratory),
            )


def _seen(cell: Cell, planned: int, *, exploratory: bool) -> Seen:
    found = cell.summary.replications
    several = len({each.launch for each in found})
    words = f"{len(found)} replications of {planned} planned, in {several} launches"
    launches = launches_of(cell.summary, cell.facts)
    if launches >= LEAST and launches == len(found):
        return "pass", words
    return ("not applicable" if exploratory else "fail"), words


def launches_of(cell: CellSummary, facts: CandidateFacts) -> int:
    """Return how many launches a cell rests on; of an endpoint its replications are all."""
    if facts.kind == "endpoint":
        return len(cell.replications)
    return len({each.launch for each in cell.replications})
