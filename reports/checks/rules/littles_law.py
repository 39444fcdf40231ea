"""In flight, rate and residence agree."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen
from reports.run.checks_file import Check

_MOST = 1e-3


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether Little's law holds from idle to idle."""
    for cell in evidence.cells():
        yield cell.check(
            "littles-law",
            "Mean in flight equals rate times residence over the whole run",
            "a difference of at most 0.1%",
            _seen(cell),
            decisive=True,
        )


def _seen(cell: Cell) -> Seen:
    sides = [document["little"] for document in cell.documents()]
    if not sides or None in sides:
        return "unknown", "no request was sent and ended in every replication"
    worst = max(
        abs(side["mean_in_flight"] - side["rate_times_residence"])
        / max(side["mean_in_flight"], side["rate_times_residence"], 1e-12)
        for side in sides
    )
    return ("pass" if worst <= _MOST else "fail"), f"a difference of at most {worst:.2%}"
