"""The server counted what the client counted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from reports.checks.evidence import Cell, Evidence, Seen
from reports.gathered import Replication
from reports.run.checks_file import Check
from reports.summary.server_figures import client_total, total

_MOST: Final = 0.01
_PAIRS: Final = (
    ("requests_finished", "requests"),
    ("prompt_tokens", "prompt_tokens"),
    ("generation_tokens", "output_tokens"),
)


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether the server's counters agree with the client's sums."""
    for cell in evidence.cells():
        yield cell.check(
            "server-counters",
            "The server's own counters and the client's sums agree over the whole cell",
            "within 1%; with failed requests the server may have counted more",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    told = [found for each in cell.replications for found in _differences(each)]
    if not told:
        return "unknown", "the server counts nothing that can be compared"
    may_exceed = cell.summary.requests["ok"] < cell.summary.requests["sent"]
    wrong = [
        f"{name} {difference:+.1%}"
        for name, difference in told
        if difference < -_MOST or (difference > _MOST and not may_exceed)
    ]
    if wrong:
        return "fail", f"server against client: {', '.join(dict.fromkeys(wrong))}"
    worst = max((difference for _, difference in told), key=abs)
    names = ", ".join(dict.fromkeys(name for name, _ in told))
    return "pass", f"{names}: off by at most {abs(worst):.2%}"


def _differences(replication: Replication) -> Iterator[tuple[str, float]]:
    for name, of_client in _PAIRS:
        counted, sent = (
            total(replication.server, name),
            client_total(replication.server, of_client),
        )
        if counted is not None and sent:
            yield name, counted / sent - 1
