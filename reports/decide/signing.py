"""What keeps a decision from being signed, and what stamp it bears."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from typing import Final

from catalog.quantity import Basis
from reports.checks.rules.price import has_gone_stale
from reports.checks.rules.real_weights import why_not_dummy
from reports.decide.amounts import too_thin
from reports.decide.contender import Contender
from reports.decide.verdict import Verdict
from reports.run.checks_file import Checks
from reports.run.decision_file import Stamp
from reports.run.plan_file import ContractFacts, RunPlan
from reports.run.summary_file import Summary

_AMOUNTS: Final = ("enough-launches", "enough-requests")


def unsignable(
    each: Contender, contract: ContractFacts, checks: Checks, today: dt.date
) -> tuple[str, ...]:
    """Return the reasons for which a decision for this candidate cannot be signed."""
    return tuple(dict.fromkeys(_reasons(each, contract, checks, today)))


def _reasons(
    each: Contender, contract: ContractFacts, checks: Checks, today: dt.date
) -> Iterator[str]:
    price = each.facts.price
    if (why := why_not_dummy(each.facts, contract)) is not None:
        yield why
    if price is not None and has_gone_stale(price, today):
        yield f"its price is stale (read on {price.date or 'an unknown day'})"
    if (thin := too_thin(each, contract)) is not None:
        yield thin
    if each.facts.parity == "needs quality proof" and each.standing != "complies":
        yield "its precision is not the contract's, and its quality is not measured"
    yield from _seen_by_checks(each, checks)


def _seen_by_checks(each: Contender, checks: Checks) -> Iterator[str]:
    for check in checks.checks:
        if check.candidate != each.name or check.verdict not in ("fail", "unknown"):
            continue
        if check.id == "contradiction" and check.verdict == "fail":
            yield f"a measurement lies below its own bound: {check.observed}"
        if check.id == "real-weights" and check.verdict == "fail":
            yield check.observed
        if check.id == "sold-whole":
            yield check.observed
        if check.id == "quality":
            yield check.observed


def blockers(
    plan: RunPlan,
    verdict: Verdict,
    places: Sequence[Contender],
    checks: Checks,
    *,
    stamp: Stamp,
    today: dt.date,
) -> tuple[str, ...]:
    """Return all that stands between the decision and a signoff."""
    return tuple(
        dict.fromkeys(_blockers(plan, verdict, places, checks, stamp=stamp, today=today))
    )


def _blockers(
    plan: RunPlan,
    verdict: Verdict,
    places: Sequence[Contender],
    checks: Checks,
    *,
    stamp: Stamp,
    today: dt.date,
) -> Iterator[str]:
    if verdict.winner is None:
        yield f"no candidate is chosen ({verdict.outcome})"
    if stamp != "MEASURED":
        yield f"the run is stamped {stamp}"
    for each in places:
        if each.name == verdict.winner:
            yield from unsignable(each, plan.contract, checks, today)
    for check in checks.checks:
        if check.stands_against(verdict.winner):
            of = check.name.partition("/")[2] or "the run"
            yield f"check {check.id} ({of}): {check.observed}"


def stamp_of(
    plan: RunPlan, summary: Summary, places: Sequence[Contender], checks: Checks
) -> Stamp:
    """Return the stamp of the evidence; a signature comes later."""
    if not any(each.cell is not None for each in places):
        return "ESTIMATE"
    if plan.rehearsal or summary.rehearsal or _is_simulated(summary):
        return "REHEARSAL"
    if summary.imported:
        return "IMPORTED"
    names = {each.name for each in places if each.complies} or {e.name for e in places}
    thin = any(
        check.id in _AMOUNTS and check.verdict != "pass" and check.candidate in names
        for check in checks.checks
    )
    thin = thin or any(each.complies and too_thin(each, plan.contract) for each in places)
    return "EXPLORATORY" if plan.exploratory or thin else "MEASURED"


def _is_simulated(summary: Summary) -> bool:
    """Whether any cell comes from a simulation, whatever the plan says of itself."""
    return any(
        cell.basis is Basis.SIMULATION for each in summary.candidates for cell in each.cells
    )
