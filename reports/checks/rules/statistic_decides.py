"""The verdict does not hang on which ITL statistic is taken."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell that decides, whether goodput is judged alike under all statistics."""
    for cell in evidence.cells():
        if cell.decides:
            yield cell.check(
                "statistic-decides",
                "Goodput is judged alike whichever ITL statistic a request is held to",
                "one verdict under tpot, p95_gap and max_gap; else page 1 says so",
                _seen(cell),
            )


def _seen(cell: Cell) -> Seen:
    found = {
        name: clause.verdict
        for name, clause in cell.summary.goodput.items()
        if clause.verdict != "no such clause" and clause.number.value is not None
    }
    words = ", ".join(f"{name} {verdict}" for name, verdict in found.items())
    if not found:
        return "not applicable", "the contract asks for no goodput"
    verdicts = set(found.values())
    is_split = "holds" in verdicts and "misses" in verdicts
    return ("fail" if is_split else "pass"), words
