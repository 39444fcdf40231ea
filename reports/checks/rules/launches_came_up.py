"""Every planned launch came up and lived."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Evidence
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per candidate with launches of ours, how many came up."""
    for facts, found in evidence.measured():
        if facts.kind == "endpoint" or not found.launches:
            continue
        down = [launch for launch in found.launches if launch.state != "ready"]
        words = "; ".join(
            f"launch {launch.replication} {launch.state}"
            + (f" ({launch.error})" if launch.error else "")
            for launch in down
        )
        count = len(found.launches)
        yield Check(
            id="launches-came-up",
            requirement="A candidate starts every time: one launch that fails is evidence too",
            observed=words or f"{count} of {count} launches",
            needed="all launches",
            verdict="fail" if down else "pass",
            candidate=facts.name,
        )
