"""Cells that decide are long enough."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reports.checks.evidence import Cell, Evidence, Seen, value_of
from reports.run.checks_file import Check
from reports.run.summary_file import CellSummary

LEAST_REQUESTS: Final = 200
LEAST_S: Final = 600.0
_ALMOST: Final = 0.98  # the window ends with the last answer, not with the plan's second


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell that decides, the fewest requests and seconds of its replications."""
    for cell in evidence.cells():
        if cell.decides:
            yield cell.check(
                "enough-requests",
                "A cell that decides is long enough to see rare delays",
                f"{LEAST_REQUESTS} measured requests and {LEAST_S:g} s in every replication",
                _seen(cell, exploratory=evidence.files.plan.exploratory),
            )


def _seen(cell: Cell, *, exploratory: bool) -> Seen:
    requests, seconds = fewest(cell.summary)
    words = f"at least {requests} requests in {seconds:.0f} s"
    if is_enough(requests, seconds):
        return "pass", words
    return ("not applicable" if exploratory else "fail"), words


def is_enough(requests: int, seconds: float) -> bool:
    """Whether that many measured requests in that many seconds can decide."""
    return requests >= LEAST_REQUESTS and seconds >= _ALMOST * LEAST_S


def fewest(cell: CellSummary) -> tuple[int, float]:
    """Return the fewest measured requests and the shortest window of the replications."""
    found = cell.replications
    return (
        min((int(value_of(each, "requests", "measured") or 0) for each in found), default=0),
        min((float(value_of(each, "window_s") or 0.0) for each in found), default=0.0),
    )
