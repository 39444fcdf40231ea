"""The first requests after a start are not among the measured ones."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen, span, without_problems
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether a warm-up was discarded and whether it converged."""
    for cell in evidence.cells():
        yield cell.check(
            "warm-up",
            "Requests of the warm-up, the first wave among them, are discarded",
            "as many as there are streams; that medians converge is recorded, not needed",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    warmups = [document["warmup"] for document in cell.documents()]
    converged = [warmup["converged"] for warmup in warmups]
    words = "" if None in converged else f", converged in {sum(converged)} of {len(converged)}"
    discarded = span([float(warmup["requests"]) for warmup in warmups], "{:.0f}".format)
    return without_problems(cell, ("first wave included",), f"{discarded} discarded{words}")
