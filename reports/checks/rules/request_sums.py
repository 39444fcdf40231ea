"""Every planned request is accounted for once."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether its sums of requests add up."""
    for cell in evidence.cells():
        yield cell.check(
            "request-sums",
            "Requests are counted once: sent and not sent are all, and each sent one ended",
            "planned = sent + not sent; sent = ok + failed + truncated + timed out + cancelled",
            _seen(cell),
            decisive=True,
        )


def _seen(cell: Cell) -> Seen:
    requests = cell.summary.requests
    ended = sum(
        requests[name] for name in ("ok", "failed", "truncated", "timed_out", "cancelled")
    )
    words = (
        f"{requests['planned']} = {requests['sent']} sent + {requests['not_sent']} not sent;"
        f" {ended} ended"
    )
    found = cell.problems("sums do not add up")
    adds_up = requests["planned"] == requests["sent"] + requests["not_sent"]
    if adds_up and requests["sent"] == ended and not found:
        return "pass", words
    return "fail", "; ".join([words, *found])
