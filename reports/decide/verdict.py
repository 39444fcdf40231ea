"""The outcome: the contest's answer as a verdict, or why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.decide.contender import Contender
from reports.decide.contest import (
    Contest,
    Entry,
    comparisons,
    contest,
    entries_of,
    judged,
    reference,
)
from reports.decide.crossover import crossover_rate
from reports.decide.demand import Fleet, cheapest, fleet_of, unsized_words
from reports.decide.metric import BESIDE, COST, Metric, choose_metric, tie_order
from reports.decide.steps import (
    UNDECIDED,
    contest_steps,
    first_steps,
    listed,
    metric_steps,
    names_of,
    tie_words,
)
from reports.number_words import amount, digits
from reports.run.decision_file import Comparison, Outcome
from reports.run.plan_file import RunPlan

HELD, MISSED, OPEN, VOID, NOTHING, REJECTED = 0, 4, 5, 7, 8, 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Who wins and how it came about; ``order`` are the ranked candidates, the winner first."""

    outcome: Outcome
    chosen: str | None = None
    tie_break: str | None = None
    sentence: str
    because: tuple[str, ...] = ()
    rule: tuple[str, ...] = ()
    ranked_by: str = "nothing: no candidate is proven to hold the contract"
    order: tuple[str, ...] = ()
    metric: Metric = COST
    comparisons: tuple[Comparison, ...] = ()
    crossover: float | None = None
    exit_code: int

    @property
    def winner(self) -> str | None:
        """Whom the evidence or else the rule for ties names."""
        return self.chosen or self.tie_break


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
            return _by_demand(plan, ranked, fleets, rule)
        rule.append(
            "A demand is stated, but no fleet can be sized, and cost at the contract's load is "
            f"ranked instead. {unsized_words(ranked, plan.contract)}"
        )
    return _by_load(plan, ranked, choice.metric, rule)


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


def _by_load(
    plan: RunPlan, pool: Sequence[Contender], metric: Metric, rule: list[str]
) -> Verdict:
    """Ranked by the metric at the contract's load, and at the highest held rate beside it."""
    entries = entries_of(pool, metric, at_held=False)
    found = contest(
        entries,
        metric,
        incumbent=plan.incumbent,
        switch_if_saves=plan.switch_if_saves,
    )
    rule += contest_steps(found, entries, plan)
    other = _at_held(plan, pool, metric, found, entries)
    rule.append(_held_rule(other, found))
    if other is not None and other.winner != found.winner:
        held = entries_of(pool, metric, at_held=True)
        if _contradict(found, other, entries, held):
            return _depends(found, other, entries, rule)
    return _concluded(
        plan, found, entries, rule, ranked_by=f"{metric.words} at the contract's load"
    )


def _at_held(
    plan: RunPlan,
    pool: Sequence[Contender],
    metric: Metric,
    found: Contest,
    entries: dict[str, Entry],
) -> Contest | None:
    """The contest at the highest held rates; None where not every candidate has one."""
    held = entries_of(pool, metric, at_held=True)
    if found.winner not in held or len(held) < len(entries):
        return None
    return contest(held, metric, incumbent=plan.incumbent, switch_if_saves=plan.switch_if_saves)


def _held_rule(other: Contest | None, found: Contest) -> str:
    if other is None:
        return "Not every candidate has a proven rate: only the contract's load is ranked."
    agree = "agree" if other.winner == found.winner else "disagree"
    return (
        f"At the highest rate that each holds, {other.winner} comes first: the two rankings "
        f"{agree}."
    )


def _contradict(
    found: Contest, other: Contest, entries: dict[str, Entry], held: dict[str, Entry]
) -> bool:
    """Whether each winner is shown to be better than the other one at its own load."""
    ours, theirs = found.winner, other.winner
    at_load = judged(entries[ours], entries[theirs], found.metric).word
    at_held = judged(held[theirs], held[ours], found.metric).word
    return at_load == at_held == "better"


def _depends(
    found: Contest, other: Contest, entries: dict[str, Entry], rule: list[str]
) -> Verdict:
    ours, theirs = entries[found.winner].contender, entries[other.winner].contender
    rate = _crossover(ours, theirs)
    turn = (
        ""
        if rate is None
        else f" Above {amount(rate, '/s')} a fleet of {theirs.name} is cheaper."
    )
    return Verdict(
        outcome="depends on demand",
        sentence=(
            f"It depends on demand: {ours.name} is better at the contract's load, "
            f"{theirs.name} at the highest rate that each holds.{turn}"
        ),
        because=(_holds(ours), _holds(theirs)),
        rule=tuple(rule),
        ranked_by=f"{found.metric.words} at the contract's load",
        order=found.order,
        metric=found.metric,
        comparisons=_comparisons(entries, found.metric, found.winner, one_claim=False),
        crossover=rate,
        exit_code=OPEN,
    )


def _crossover(ours: Contender, theirs: Contender) -> float | None:
    rates = [each.held.highest_proven if each.held else None for each in (ours, theirs)]
    if ours.hourly is None or theirs.hourly is None or not rates[0] or not rates[1]:
        return None
    return crossover_rate(ours.hourly, rates[0], theirs.hourly, rates[1])


def _concluded(
    plan: RunPlan,
    found: Contest,
    entries: dict[str, Entry],
    rule: list[str],
    *,
    ranked_by: str,
) -> Verdict:
    """Chosen where the winner is shown to be the best; else a tie and its choice."""
    winner = entries[found.winner].contender
    order = (found.winner, *(name for name in found.order if name != found.winner))
    is_best = found.shown and found.winner == found.best
    against = (
        found.winner if is_best else reference(entries, found.winner if found.kept else None)
    )
    rows = _comparisons(entries, found.metric, against, one_claim=is_best)
    because = (_holds(winner), *_gaps(rows, found.metric, told=frozenset(order[:2])))
    if found.shown:
        return Verdict(
            outcome="chosen",
            chosen=winner.name,
            sentence=_chosen_sentence(found, entries),
            because=because,
            rule=tuple(rule),
            ranked_by=ranked_by,
            order=order,
            metric=found.metric,
            comparisons=rows,
            exit_code=HELD,
        )
    return Verdict(
        outcome="no difference shown",
        tie_break=winner.name,
        sentence=(
            f"No difference is shown between {listed(found.tied)} in {found.metric.words}: "
            f"{tie_words(winner.name, plan)}."
        ),
        because=because,
        rule=tuple(rule),
        ranked_by=ranked_by,
        order=order,
        metric=found.metric,
        comparisons=rows,
        exit_code=OPEN,
    )


def _chosen_sentence(found: Contest, entries: dict[str, Entry]) -> str:
    name = found.winner
    if len(entries) == 1:
        cost = _cost_words(entries[name].contender)
        return f"{name} is chosen: it alone is proven to hold the contract{cost}."
    if found.kept:
        return f"{name} stays: {found.kept}."
    nearest = found.order[1]
    gap = judged(entries[name], entries[nearest], found.metric).ratio
    by = "" if gap is None else f", {abs(1 - gap):.1%} {_side(gap)} that of {nearest}"
    return (
        f"{name} is chosen: of {len(entries)} candidates that hold the contract its "
        f"{found.metric.words} is shown to be the best{by}."
    )


def _side(ratio: float) -> str:
    return "below" if ratio < 1 else "above"


def _cost_words(each: Contender) -> str:
    paid = each.production_cell or each.cell
    number = None if paid is None else paid.measures.get(COST.name)
    if number is None or number.value is None:
        return ""
    return f", at {amount(number.value, number.unit)} of compliant tokens"


def _holds(each: Contender) -> str:
    return f"{each.name} holds the contract: {each.why}.{_by_statistic(each)}"


def _by_statistic(each: Contender) -> str:
    """That goodput is judged otherwise under another ITL statistic, where it is."""
    found = {} if each.cell is None else each.cell.goodput
    verdicts = {
        name: clause.verdict
        for name, clause in found.items()
        if clause.number.value is not None and clause.verdict != "no such clause"
    }
    if len(set(verdicts.values())) < 2:
        return ""
    words = ", ".join(f"{name} {verdict}" for name, verdict in verdicts.items())
    return f" Goodput hangs on the ITL statistic: {words}."


def _gaps(rows: Sequence[Comparison], metric: Metric, *, told: frozenset[str]) -> list[str]:
    """A sentence for each comparison in the metric of the ranking.

    That of the two in ``told`` is left out: it is the decision's gap to its runner-up.
    """
    sentences = []
    for row in rows:
        if row.metric != metric.name or {row.candidate, row.against} == told:
            continue
        subject = f"{metric.words[0].upper()}{metric.words[1:]} of {row.candidate}"
        if row.ratio.value is None:
            sentences.append(f"{subject} against {row.against}: {row.why or row.word}.")
            continue
        ratio, low, high = map(digits, (row.ratio.value, row.ratio.low, row.ratio.high))
        sentences.append(
            f"{subject} is {ratio} times that of {row.against} ({low} to {high}): {row.word}."
        )
    return sentences


def _comparisons(
    entries: dict[str, Entry], metric: Metric, against: str, *, one_claim: bool
) -> tuple[Comparison, ...]:
    """The metric of the ranking, and beside it figures that decide nothing."""
    rows = list(comparisons(entries, metric, against, one_claim=one_claim))
    pool = [entry.contender for entry in entries.values()]
    for beside in BESIDE:
        rows += comparisons(
            entries_of(pool, beside, at_held=False), beside, against, one_claim=False
        )
    return tuple(rows)


def _by_demand(
    plan: RunPlan, pool: Sequence[Contender], fleets: dict[str, Fleet], rule: list[str]
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
        because=(_holds(by_name[winner]), f"{sized}."),
        rule=tuple(rule),
        ranked_by="monthly cost of the fleet for the stated demand",
        order=names,
        metric=COST,
        comparisons=_comparisons(entries, COST, winner, one_claim=False),
        exit_code=HELD if shown else OPEN,
    )


def _demand_winner(
    plan: RunPlan,
    order: Sequence[str],
    tied: Sequence[str],
    fleets: dict[str, Fleet],
    by_name: dict[str, Contender],
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
