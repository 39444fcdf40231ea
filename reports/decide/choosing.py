"""The outcome over all candidates: the contest's answer as a verdict, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence

from reports.decide.by_demand import by_demand
from reports.decide.by_load import by_load
from reports.decide.contender import Contender
from reports.decide.demand import fleet_of, unsized_words
from reports.decide.metric import COST, choose_metric
from reports.decide.steps import UNDECIDED, first_steps, metric_steps, names_of
from reports.decide.verdict import MISSED, NOTHING, OPEN, REJECTED, VOID, Verdict
from reports.run.plan_file import RunPlan


def verdict_of(plan: RunPlan, everybody: Sequence[Contender]) -> Verdict:
    """Return the verdict over all candidates."""
    pool = [each for each in everybody if each.complies]
    if not pool:
        return _nobody(everybody)
    choice = choose_metric(pool, plan.commitments)
    ranked = [each for each in pool if each.name not in choice.apart]
    rule = [*first_steps(everybody, pool), *metric_steps(choice, pool)]
    demand = plan.contract.demand
    if demand is not None and choice.metric is COST:
        fleets = {
            each.name: fleet
            for each in ranked
            if (fleet := fleet_of(each, plan.contract)) and fleet.monthly is not None
        }
        if fleets:
            return by_demand(plan, ranked, fleets, rule)
        rule.append(
            "A demand is stated, but no fleet can be sized, and cost at the contract's load is "
            f"ranked instead. {unsized_words(ranked, plan.contract)}"
        )
    return by_load(plan, ranked, choice.metric, rule)


def _nobody(everybody: Sequence[Contender]) -> Verdict:
    """No candidate is proven to hold the contract."""
    tried = [each for each in everybody if each.facts.measured]
    missed = [each for each in tried if each.standing == "misses"]
    open_ = [each for each in tried if each.standing in (*UNDECIDED, "not measured")]
    rule = tuple(first_steps(everybody, []))
    because = tuple(f"{each.name}: {each.standing}: {each.why}" for each in tried)
    if not any(each.cell is not None for each in tried):
        return Verdict(
            outcome="nothing measured",
            sentence="Nothing was measured, so nothing is decided.",
            because=because,
            rule=rule,
            exit_code=NOTHING if tried else REJECTED,
        )
    if not open_ and missed:
        return Verdict(
            outcome="none complies",
            sentence=f"No candidate holds the contract: {names_of(missed)} "
            f"{'misses' if len(missed) == 1 else 'miss'} it.",
            because=because,
            rule=rule,
            exit_code=MISSED,
        )
    is_void = any(each.standing == "no valid evidence" for each in open_)
    return Verdict(
        outcome="inconclusive",
        sentence=f"Nothing is decided: of {names_of(open_)} it is not shown whether the "
        "contract holds.",
        because=because,
        rule=rule,
        exit_code=VOID if is_void else OPEN,
    )
