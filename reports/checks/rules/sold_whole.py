"""The price is of what can be bought."""

from __future__ import annotations

from collections.abc import Iterator

from reports.checks.evidence import Evidence, Seen
from reports.run.checks_file import Check
from reports.run.plan_file import CandidateFacts


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per candidate of an offer, whether its price is of what the offer sells."""
    for facts, _ in evidence.measured():
        verdict, observed = _seen(facts)
        yield Check(
            id="sold-whole",
            requirement="The price is the whole instance's, or a share's where shares are sold",
            observed=observed,
            needed="the offer's own price, for what it sells",
            verdict=verdict,
            candidate=facts.name,
        )


def _seen(facts: CandidateFacts) -> Seen:
    if facts.kind == "endpoint" or facts.offer is None or facts.price is None:
        return "not applicable", "no offer sells this candidate's machine"
    sold_as = facts.price.sold_as
    if sold_as == "share":
        return "pass", f"{facts.offer} sells shares"
    if facts.price.stated:
        return "unknown", f"{facts.offer} sells whole instances; the campaign states a price"
    return "pass", f"the price of a whole {facts.offer}"
