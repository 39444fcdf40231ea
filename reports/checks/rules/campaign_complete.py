"""All that was planned was measured."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Evidence
from reports.run.checks_file import Check


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per candidate, how many of its planned replications of cells are there."""
    plan = evidence.files.plan
    for facts, _ in evidence.measured():
        planned = {
            (point, visit.replication)
            for visit in plan.order
            if visit.candidate == facts.name
            for point in visit.load_points
        }
        there = {(each.load_point, each.number) for each in evidence.files.of(facts.name)}
        skipped = {
            (line.get("load_point"), line.get("replication"))
            for line in evidence.files.events("skipped", candidate=facts.name)
        }
        missing = sorted(planned - there - skipped)
        words = ", ".join(f"{point} replication {number}" for point, number in missing[:5])
        more = f" and {len(missing) - 5} more" if len(missing) > 5 else ""
        yield Check(
            id="campaign-complete",
            requirement="Every planned replication was measured, or left out for a reason",
            observed=f"missing: {words}{more}" if missing else f"{len(planned)} replications",
            needed=f"{len(planned)} replications",
            verdict="fail" if missing else "pass",
            candidate=facts.name,
        )
