"""Devices ran at the clocks that they were asked to, and were not throttled."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell that decides, whether clocks and throttling are on record."""
    for cell in evidence.cells():
        if cell.decides:
            yield cell.check(
                "clocks",
                "Device clocks stay as asked, and nothing throttles them",
                "telemetry of the whole window without a reason to throttle",
                _seen(cell),
            )


def _seen(cell: Cell) -> Seen:
    if cell.summary.basis == "simulation":
        return "not applicable", "a simulation has no clocks"
    if cell.facts.kind == "endpoint":
        return "not applicable", "an endpoint shows no machine"
    if not all(each.has_telemetry for each in cell.replications):
        return "unknown", "no telemetry of the machine is on record"
    return "unknown", "telemetry is on record; this version does not judge it"
