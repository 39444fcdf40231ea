"""Tokens were counted by who knows them."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen, without_problems
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whose count of the output tokens the figures rest on."""
    for cell in evidence.cells():
        yield cell.check(
            "token-counts",
            "Output tokens are the server's count, and no other count disagrees",
            "usage in every answer; other counts within 1%",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    sources = sorted({document["tokens"]["source"] for document in cell.documents()})
    fine = f"counted by: {', '.join(sources)}"
    return without_problems(cell, ("tokens not reported", "token counts disagree"), fine)
