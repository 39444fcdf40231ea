"""Gaps between tokens can be seen from where the client stands."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen, span, values_of, without_problems
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether chunks came one by one."""
    for cell in evidence.cells():
        yield cell.check(
            "itl-observable",
            "Chunks arrive one by one, not bunched by something on the way",
            "at most a quarter of the chunks come together with the one before",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    together = values_of(cell, "bunching", "together_share")
    fine = f"{span(together, '{:.1%}'.format)} of the chunks came together" if together else ""
    return without_problems(cell, ("ITL not observable here",), fine or "no chunks")
