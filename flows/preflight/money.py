"""Money: that each candidate's price is known and not too old, and that something stops us."""

from __future__ import annotations

from collections.abc import Iterator

from catalog.sale import STALE_AFTER_DAYS
from flows.preflight.finding import Finding, blocks, warns
from flows.preflight.question import Question, Subject


def money_findings(question: Question) -> Iterator[Finding]:
    """Prices that are missing or stale, and a budget that nobody can hold."""
    budget = question.campaign.budget
    for subject in question.subjects:
        yield from _price(subject, question)
        if subject.sale is not None and subject.sale.stale:
            yield warns(
                f"{subject.where}, price",
                f"the price of {subject.candidate.offer} is older than {STALE_AFTER_DAYS} days",
                "Read it again: a stale price cannot decide a signoff",
            )
    rented = [subject for subject in question.subjects if is_rented(subject)]
    if rented and budget.usd is None and budget.hours is None:
        yield warns(
            "budget",
            f"machines are rented for {len(rented)} candidates and nothing limits the cost",
            "State budget: {usd: …, hours: …}",
        )


def is_rented(subject: Subject) -> bool:
    """Whether the candidate's machine is one that we would pay for by the hour."""
    return subject.candidate.offer is not None and not subject.is_local


def _price(subject: Subject, question: Question) -> Iterator[Finding]:
    if subject.refusal is not None or subject.candidate.price is not None:
        return
    if subject.sale is not None and subject.sale.price is not None:
        return
    if subject.plan is not None and subject.plan.simulation:
        return
    where = f"{subject.where}, price"
    if is_rented(subject) and question.campaign.budget.usd is not None:
        yield blocks(
            where,
            f"the price of {subject.candidate.offer} is unknown: the budget cannot be held",
            "State it: assumptions: {price: $…/h}",
        )
        return
    yield warns(
        where,
        "it is unknown: the candidate is ranked by tokens per machine-hour, not by cost",
        "State it: price: $…/h",
    )
