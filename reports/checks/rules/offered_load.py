"""The load that was sent is the load that was asked for."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen, span, values_of, without_problems
from reports.run.checks_file import Check

_CONCERNS = ("arrivals off", "rate not achieved", "streams not kept in flight")


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether requests were sent as the load point says."""
    for cell in evidence.cells():
        yield cell.check(
            "offered-load",
            "Requests were sent at the rate, or kept in flight, as the load point says",
            "the rate within 1% and arrivals of their kind; a closed loop keeps its streams",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    point = cell.summary.point
    if point is None or not point.is_open:
        flying = values_of(cell, "in_flight", "mean")
        fine = f"{span(flying, '{:.3g}'.format)} in flight" if flying else "streams were kept"
    else:
        sent = values_of(cell, "achieved_rate")
        fine = f"{span(sent, '{:.4g}'.format)} per second of {point.rate_per_s:g} asked"
    return without_problems(cell, _CONCERNS, fine)
