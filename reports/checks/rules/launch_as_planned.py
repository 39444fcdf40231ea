"""The server that answered is the one that was planned."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Evidence, Seen
from reports.run.checks_file import Check
from reports.run.plan_file import CandidateFacts
from reports.run.summary_file import CandidateSummary


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per candidate, whether what it reports of itself is what was asked."""
    for facts, found in evidence.measured():
        verdict, observed = _seen(facts, found)
        yield Check(
            id="launch-as-planned",
            requirement="The server reports what was asked of it, and every launch is the same",
            observed=observed,
            needed="no difference; one fingerprint, the plan's",
            verdict=verdict,
            candidate=facts.name,
            evidence=tuple(
                f"launch/{facts.name}/{launch.replication}/launch.json"
                for launch in found.launches
                if launch.fingerprint is not None
            ),
        )


def _seen(facts: CandidateFacts, found: CandidateSummary) -> Seen:
    if facts.kind == "endpoint":
        return "not applicable", "an endpoint is measured as it stands: nothing is controlled"
    up = [launch for launch in found.launches if launch.state == "ready"]
    if not up:
        return "unknown", "no launch is on record"
    different = dict.fromkeys(each for launch in up for each in launch.differences)
    if different:
        return "fail", "; ".join(different)
    prints = {launch.fingerprint for launch in up}
    if None in prints:
        return "unknown", "a launch left no fingerprint"
    return _of_one(len(up), {str(each) for each in prints}, facts.fingerprint)


def _of_one(launches: int, prints: set[str], planned: str | None) -> Seen:
    """Whether all launches were one, and that the plan's (None: it has none)."""
    short = ", ".join(sorted(each[:8] for each in prints))
    if planned is not None and prints != {planned}:
        return "fail", f"launched as {short}, planned as {planned[:8]}"
    if len(prints) > 1:
        return "fail", f"{len(prints)} different launches: {short}"
    return "pass", f"{launches} launches of {short}, all as asked"
