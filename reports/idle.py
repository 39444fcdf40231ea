"""What of a fleet is paid for and not used, where a demand is stated."""

from __future__ import annotations

from dataclasses import dataclass

from catalog.quantity import significant
from reports.decide.demand import HOURS_PER_MONTH
from reports.number_words import amount
from reports.report import Report
from reports.run.decision_file import Ranked


@dataclass(frozen=True, slots=True, kw_only=True)
class Idle:
    """The unused part of a fleet that bears the peak, at the mean rate.

    ``bears_per_s`` is what the fleet is proven to hold in requests per second, ``share`` the
    part of it from 0 to 1 that the mean does not use, ``monthly`` its cost. ``per_mtok`` is
    the cost of 1M output tokens with idle hours in it; None where their number is unknown.
    """

    bears_per_s: float
    share: float
    monthly: float
    per_mtok: float | None
    currency: str


def idle_of(report: Report, ranked: Ranked) -> Idle | None:
    """The idle part of a candidate's fleet; None without one, and where tokens are paid for."""
    contract, facts = report.plan.contract, report.facts(ranked.name)
    cost, bracket = ranked.monthly_usd, ranked.held_rate
    if contract.demand is None or cost is None or cost.value is None or not ranked.instances:
        return None
    if facts is None or facts.price is None or not facts.price.unit.endswith("/h"):
        return None
    if bracket is None or not bracket.highest_proven:
        return None
    bears, mean = ranked.instances * bracket.highest_proven, contract.demand.mean_per_s
    share = max(0.0, 1 - mean / bears)
    tokens = mean * 3600 * HOURS_PER_MONTH * (contract.mean_output_tokens or 0)
    return Idle(
        bears_per_s=bears,
        share=share,
        monthly=cost.value * share,
        per_mtok=cost.value / tokens * 1e6 if tokens else None,
        currency=cost.unit,
    )


def idle_words(report: Report, ranked: Ranked) -> str | None:
    """The idle part in a sentence; None where there is none to state."""
    found, demand = idle_of(report, ranked), report.plan.contract.demand
    if found is None or demand is None:
        return None
    words = (
        f"Of what the fleet of {ranked.name} bears, {significant(found.bears_per_s)} "
        f"requests/s, the mean of {significant(demand.mean_per_s)} leaves "
        f"{amount(found.share, '1')} idle: {amount(found.monthly, found.currency)} a month"
    )
    if found.per_mtok is None:
        return f"{words}."
    per = amount(found.per_mtok, f"{found.currency}/Mtok")
    return f"{words}. With idle hours in it an output token costs {per}."
