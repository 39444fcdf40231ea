"""The price is known, fresh, and of what was measured."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from catalog.sale import STALE_AFTER_DAYS, is_stale
from reports.checks.evidence import Evidence, Seen
from reports.run.checks_file import Check
from reports.run.plan_file import CandidateFacts, PriceFacts


def check(evidence: Evidence) -> Iterator[Check]:
    """Yield, per candidate, whether its price can decide."""
    for facts, _ in evidence.measured():
        verdict, observed = _seen(facts, evidence.today)
        yield Check(
            id="price",
            requirement="The price is known, and young enough to decide on",
            observed=observed,
            needed=f"a price; one that the campaign does not state is of the last "
            f"{STALE_AFTER_DAYS} days",
            verdict=verdict,
            candidate=facts.name,
        )


def _seen(facts: CandidateFacts, today: dt.date) -> Seen:
    price = facts.price
    if price is None:
        return "unknown", "no price: ranking is by tokens per machine-hour"
    words = f"{price.value:g} {price.unit} ({price.basis.value})"
    if has_gone_stale(price, today):
        return "fail", f"{words}, read on {price.date or 'an unknown day'}"
    return "pass", f"{words}, read on {price.date}" if price.date else words


def has_gone_stale(price: PriceFacts, today: dt.date) -> bool:
    """Whether a price is too old by that day; a stated one ages only from a stated day."""
    if price.stated and price.date is None:
        return False
    try:
        read_on = None if price.date is None else dt.date.fromisoformat(price.date)
    except ValueError:
        read_on = None
    return price.stale or is_stale(read_on, today)
