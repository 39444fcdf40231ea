"""Prompts had the contract's length."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen, span, values_of, without_problems
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether prompts were as long as asked, by the server's count."""
    for cell in evidence.cells():
        yield cell.check(
            "prompt-lengths",
            "Prompts are as long as the contract says, by the server's own count",
            "within 1%",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    misses = values_of(cell, "lengths", "prompt", "miss")
    if len(misses) < len(cell.summary.replications):
        return "unknown", "the server does not tell how many tokens a prompt had"
    return without_problems(
        cell,
        ("prompt length missed",),
        f"off by {span([abs(m) for m in misses], '{:.2%}'.format)}",
    )
