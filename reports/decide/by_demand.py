"""Ranked by what the fleet for the stated traffic costs a month, idle hours included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from reports.decide.contender import Contender
from reports.decide.contest import entries_of
from reports.decide.demand import Fleet, cheapest, unsized_words
from reports.decide.metric import COST, tie_order
from reports.decide.steps import listed, tie_words
from reports.decide.verdict import HELD, OPEN, Verdict, comparisons_of, holds_words
from reports.number_words import amount
from reports.run.plan_file import RunPlan


def by_demand(
    plan: RunPlan, pool: Sequence[Contender], fleets: Mapping[str, Fleet], rule: list[str]
) -> Verdict:
    """Ranked by what the fleet for the stated traffic costs a month, idle hours included."""
    order, tied = cheapest(fleets, pool)
    by_name = {each.name: each for each in pool}
    unsized = sorted(set(by_name) - set(order))
    without = [by_name[name] for name in unsized]
    rule.append(
        "Fleets for the stated demand: ceil(peak / (held rate × (1 - headroom))) + spare whole "
        "instances, ranked by monthly cost."
    )
    if unsized:
        rule.append(unsized_words(without, plan.contract))
    winner, kept = _demand_winner(plan, order, tied, fleets, by_name)
    shown = len(tied) == 1 or bool(kept)
    entries = entries_of(pool, COST, at_held=False)
    fleet = fleets[winner]
    sized = (
        f"{winner} carries the demand with {fleet.instances} instances at "
        f"{_money(fleet, by_name[winner])} a month"
    )
    rule.append(kept or f"Not shown to cost more than {order[0]}: {listed(tied)}.")
    names = (winner, *(name for name in (*order, *unsized) if name != winner))
    return Verdict(
        outcome="chosen" if shown else "no difference shown",
        chosen=winner if shown else None,
        tie_break=None if shown else winner,
        sentence=f"{winner} {'stays' if kept else 'is chosen'}: {kept or sized}."
        if shown
        else f"No difference is shown between the fleets of {listed(tied)}: "
        f"{tie_words(winner, plan)}.",
        because=(holds_words(by_name[winner]), f"{sized}."),
        rule=tuple(rule),
        ranked_by="monthly cost of the fleet for the stated demand",
        order=names,
        metric=COST,
        comparisons=comparisons_of(entries, COST, winner, one_claim=False),
        exit_code=HELD if shown else OPEN,
    )


def _demand_winner(
    plan: RunPlan,
    order: Sequence[str],
    tied: Sequence[str],
    fleets: Mapping[str, Fleet],
    by_name: Mapping[str, Contender],
) -> tuple[str, str]:
    """The cheapest fleet, or the incumbent's where the switch saves too little, and why."""
    incumbent = plan.incumbent
    if incumbent in tied and incumbent is not None:
        return incumbent, ""
    if incumbent in order and incumbent is not None:
        now, then = fleets[incumbent].monthly, fleets[order[0]].monthly
        saved = 0.0 if not now or then is None else 1 - then / now
        if saved < plan.switch_if_saves:
            return incumbent, (
                f"a fleet of {order[0]} saves {saved:.1%}; a switch from {incumbent} must save "
                f"{plan.switch_if_saves:.0%}"
            )
    return min(tied, key=lambda name: tie_order(by_name[name])), ""


def _money(fleet: Fleet, each: Contender) -> str:
    price = each.facts.price
    currency = "USD" if price is None else price.unit.partition("/")[0]
    return amount(fleet.monthly, currency)
