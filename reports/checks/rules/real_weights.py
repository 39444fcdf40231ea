"""What was served behaves as the real model does."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Evidence, Seen
from reports.gathered import Replication
from reports.run.checks_file import Check
from reports.run.plan_file import CandidateFacts, ContractFacts


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per candidate, whether weights and prompts can stand for real traffic."""
    contract = evidence.files.plan.contract
    for facts, _ in evidence.measured():
        verdict, observed = _seen(facts, contract, evidence.files.of(facts.name))
        yield Check(
            id="real-weights",
            requirement="Weights are the model's; routing and acceptance are real traffic's",
            observed=observed,
            needed="dummy weights only for speed: no quality is asked for, no experts, no "
            "drafts; those only on recorded prompts",
            verdict=verdict,
            candidate=facts.name,
            decisive=True,
            waivable=False,
        )


def why_not_dummy(facts: CandidateFacts, contract: ContractFacts) -> str | None:
    """Why a candidate's dummy weights cannot stand for real ones; None where they can.

    A dense model costs the same time whatever its weights are, so they can show its speed.
    """
    if not facts.is_dummy:
        return None
    if facts.is_moe:
        return "dummy weights route to other experts than real ones"
    if facts.is_speculative:
        return "drafts on dummy weights are accepted otherwise than on real ones"
    if contract.quality is not None:
        return "dummy weights show speed only, and the contract asks for quality"
    return None


def _seen(
    facts: CandidateFacts, contract: ContractFacts, replications: tuple[Replication, ...]
) -> Seen:
    if (why := why_not_dummy(facts, contract)) is not None:
        return "fail", why
    random = any(each.measured.file.asked.is_sharing_drawn for each in replications)
    what = "experts" if facts.is_moe else "drafted tokens" if facts.is_speculative else None
    if what is not None and random:
        return "fail", f"{what} measured on random tokens are not those of real traffic"
    if facts.kind == "endpoint":
        return "not applicable", "what an endpoint serves cannot be seen"
    if facts.is_dummy:
        return "pass", "dummy weights: this shows speed, and no more is asked for"
    return "pass", "the model's own weights"
