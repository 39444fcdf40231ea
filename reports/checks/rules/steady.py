"""The cell stayed as it was while it was measured."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen, without_problems
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether a trend runs through the measured window."""
    for cell in evidence.cells():
        yield cell.check(
            "steady",
            "In flight, TTFT and throughput do not drift within the measured window",
            "no trend with p < 0.001 and a change above 20%",
            _seen(cell),
            decisive=True,
        )


def _seen(cell: Cell) -> Seen:
    trends = [document["trends"] for document in cell.documents()]
    if cell.problems("trend"):
        return without_problems(cell, ("trend",), "")
    if not all(trends):
        return "unknown", "too few requests to see a trend"
    largest = max(abs(found["change"]) for of_launch in trends for found in of_launch.values())
    waves = "; the streams moved in waves (lockstep)" if cell.summary.lockstep else ""
    return "pass", f"no trend; the largest fitted change is {largest:.0%}{waves}"
