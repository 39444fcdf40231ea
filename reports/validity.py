"""How long a decision can be relied on, and what makes it worth measuring again."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from catalog.sale import STALE_AFTER_DAYS
from reports.run.decision_file import Decision
from reports.run.plan_file import CandidateFacts, RunPlan


def valid_until(plan: RunPlan, decision: Decision) -> dt.date | None:
    """The last day on which no ranked price is older than 90 days; None without a dated one."""
    days = [read_on(each) for each in ranked_candidates(plan, decision)]
    known = [day for day in days if day is not None]
    return min(known) + dt.timedelta(days=STALE_AFTER_DAYS) if known else None


def is_expired(until: str | dt.date | None, today: dt.date) -> bool:
    """Whether the last day has passed; what has no last day does not expire by date."""
    day = dt.date.fromisoformat(until) if isinstance(until, str) else until
    return day is not None and today > day


def expiry_words(until: str | dt.date | None, today: dt.date) -> str:
    """Until when a decision can be relied on, as of today, and what to do once it is over."""
    if until is None:
        return "no ranked price has a day: it does not expire by date"
    if not is_expired(until, today):
        return f"valid until {until}"
    return (
        f"expired: it was valid until {until}, and a price that ranks has not been read since; "
        "hold it against today with runoff reevaluate"
    )


def ranked_candidates(plan: RunPlan, decision: Decision) -> tuple[CandidateFacts, ...]:
    """The candidates whose prices decide: those that are ranked, the winner among them."""
    names = {each.name for each in decision.ranking if each.rank is not None}
    return tuple(e for e in plan.candidates if e.name in names or e.name == decision.winner)


def read_on(candidate: CandidateFacts) -> dt.date | None:
    """The day on which the candidate's price was read; None where it is not known."""
    if candidate.price is None or candidate.price.date is None:
        return None
    try:
        return dt.date.fromisoformat(candidate.price.date)
    except ValueError:
        return None


def rerun_when(plan: RunPlan, decision: Decision) -> tuple[str, ...]:
    """The events after which the decision does not stand any longer, as sentences."""
    flips = (flip.sentence for flip in decision.flips if flip.sentence)
    return (*events(plan, decision), *flips)


def events(plan: RunPlan, decision: Decision) -> tuple[str, ...]:
    """As ``rerun_when``, without what would flip the decision, which is told beside it."""
    return tuple(_events(plan, decision))


def _events(plan: RunPlan, decision: Decision) -> Iterator[str]:
    yield "The contract changes: model, lengths, load or limits."
    winner = next((c for c in plan.candidates if c.name == decision.winner), None)
    if winner is not None and winner.kind == "endpoint":
        yield f"The provider of {winner.name} changes what it serves."
    elif winner is not None:
        yield (
            f"{winner.name} is to run another release than {winner.runtime} {winner.version}, "
            "another image, driver, machine type or revision of the weights, or other settings."
        )
    until = valid_until(plan, decision)
    if until is not None:
        yield f"A price changes, or {until.isoformat()} has passed."
