"""No cache helped beyond what the contract lets it."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Cell, Evidence, Seen, span, values_of, without_problems
from reports.run.checks_file import Check

_CONCERNS = ("prompts were cached", "prompts may have been cached")


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per cell, whether the prefix cache served what the contract shares, no more."""
    for cell in evidence.cells():
        yield cell.check(
            "prefix-hits",
            "The prefix cache serves no more of the prompts than the contract shares",
            "the contract's share, and one point",
            _seen(cell),
        )


def _seen(cell: Cell) -> Seen:
    hits = values_of(cell, "server", "prefix_hit_share")
    if cell.problems(*_CONCERNS):
        return without_problems(cell, _CONCERNS, "")
    if len(hits) < len(cell.summary.replications):
        return "unknown", "the server does not tell what its prefix cache served"
    return "pass", f"{span(hits, '{:.1%}'.format)} of the prompts' tokens came from the cache"
