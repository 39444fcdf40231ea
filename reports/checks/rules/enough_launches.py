"""There are enough independent launches to tell how much they differ."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reports.checks.evidence import Cell, Evidence, Seen
from reports.run.checks_file import Check

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
    launches = len({each.launch for each in found})
    words = f"{len(found)} replications of {planned} planned, in {launches} launches"
    if cell.facts.kind == "endpoint":
        launches = len(found)  # of an endpoint a replication is all that there is
    if launches >= LEAST and launches == len(found):
        return "pass", words
    return ("not applicable" if exploratory else "fail"), words
