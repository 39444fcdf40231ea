"""Answers had the contract's length."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen, span, values_of, without_problems
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether forced answers were as long as asked."""
    for cell in evidence.cells():
        yield cell.check(
            "output-lengths",
            "Answers are as long as the contract says",
            "within 1%, where the length is forced",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    misses = values_of(cell, "lengths", "output", "miss")
    if any(each.measured.file.asked.output == "natural" for each in cell.replications):
        return "not applicable", "answers end where the model ends them"
    if len(misses) < len(cell.summary.replications):
        return "unknown", "nobody counted the tokens of the answers"
    return without_problems(
        cell,
        ("output length missed",),
        f"off by {span([abs(m) for m in misses], '{:.2%}'.format)}",
    )
