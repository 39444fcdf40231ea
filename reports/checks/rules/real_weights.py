"""What was served behaves as the real model does."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Evidence, Seen
from reports.gathered import Replication
from reports.run.checks_file import Check
from reports.run.plan_file import CandidateFacts


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per candidate, whether weights and prompts can stand for real traffic."""
    for facts, _ in evidence.measured():
        verdict, observed = _seen(facts, evidence.files.of(facts.name))
        yield Check(
            id="real-weights",
            requirement="Weights are the model's; routing and acceptance are real traffic's",
            observed=observed,
            needed="no dummy weights; experts and drafts only on recorded prompts",
            verdict=verdict,
            candidate=facts.name,
            decisive=True,
            waivable=False,
        )


def _seen(facts: CandidateFacts, replications: tuple[Replication, ...]) -> Seen:
    if facts.is_dummy:
        return "fail", "dummy weights: speed only"
    random = any(each.measured.file.asked.is_sharing_drawn for each in replications)
    what = "experts" if facts.is_moe else "drafted tokens" if facts.is_speculative else None
    if what is not None and random:
        return "fail", f"{what} measured on random tokens are not those of real traffic"
    if facts.kind == "endpoint":
        return "not applicable", "what an endpoint serves cannot be seen"
    return "pass", "the model's own weights"
