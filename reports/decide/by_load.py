"""Ranked at the contract's load, with the ranking at the highest held rates beside it."""

from __future__ import annotations

from collections.abc import Sequence

from reports.decide.contender import Contender
from reports.decide.contest import Contest, Entry, contest, entries_of, judged, reference
from reports.decide.crossover import crossover_rate
from reports.decide.metric import COST, Metric
from reports.decide.steps import contest_steps, listed, tie_words
from reports.decide.verdict import HELD, OPEN, Verdict, comparisons_of, holds_words
from reports.number_words import amount, digits
from reports.run.decision_file import Comparison
from reports.run.plan_file import RunPlan


def by_load(
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
        because=(holds_words(ours), holds_words(theirs)),
        rule=tuple(rule),
        ranked_by=f"{found.metric.words} at the contract's load",
        order=found.order,
        metric=found.metric,
        comparisons=comparisons_of(entries, found.metric, found.winner, one_claim=False),
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
    rows = comparisons_of(entries, found.metric, against, one_claim=is_best)
    because = (holds_words(winner), *_gaps(rows, found.metric, told=frozenset(order[:2])))
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
