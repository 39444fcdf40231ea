"""The whole decision, from what was measured and planned to one file."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Final

from catalog.quantity import Basis
from reports.decide.choosing import verdict_of
from reports.decide.contender import Contender
from reports.decide.contest import as_file, entries_of, judged
from reports.decide.demand import fleet_of, monthly_number
from reports.decide.flips import flips_of
from reports.decide.limiter import limiter_of
from reports.decide.metric import COST, currency_of, score
from reports.decide.near_miss import near_miss
from reports.decide.production import is_locked
from reports.decide.signing import blockers, stamp_of, unsignable
from reports.decide.standing import contenders
from reports.decide.verdict import Verdict
from reports.number_words import amount
from reports.run.checks_file import Checks
from reports.run.decision_file import Comparison, Decision, Ranked, Standing
from reports.run.number import Number
from reports.run.plan_file import METHOD_VERSION, RunPlan
from reports.run.summary_file import CellSummary, Summary

_STANDINGS: Final[tuple[Standing, ...]] = (
    "complies",
    "needs quality proof",
    "inconclusive",
    "no valid evidence",
    "misses",
    "failed",
    "not measured",
    "voted out on paper",
)


def decide(plan: RunPlan, summary: Summary, checks: Checks, now: dt.datetime) -> Decision:
    """Return the decision of a campaign.

    Parameters
    ----------
    now
        The time of the decision: prices older than 90 days by then are stale.
    """
    # In the order of names, so that the order in the file decides nothing.
    everybody = sorted(contenders(plan, summary, checks), key=lambda each: each.name)
    verdict = verdict_of(plan, everybody)
    stamp = stamp_of(plan, summary, everybody, checks)
    by_name = {each.name: each for each in everybody}
    runner_up = verdict.order[1] if len(verdict.order) > 1 else None
    winner = None if verdict.winner is None else by_name[verdict.winner]
    return Decision(
        method_version=METHOD_VERSION,
        outcome=verdict.outcome,
        chosen=verdict.chosen,
        tie_break=verdict.tie_break,
        sentence=verdict.sentence,
        because=(*verdict.because, *_scope(winner), *_clocks(winner)),
        runner_up=runner_up,
        gap=_gap(verdict, by_name[verdict.order[0]], by_name[runner_up]) if runner_up else None,
        ranked_by=verdict.ranked_by,
        ranking=_ranking(plan, everybody, verdict, checks, now.date()),
        comparisons=verdict.comparisons,
        flips=(near_miss(everybody) if verdict.outcome == "none complies" else ())
        if winner is None
        else flips_of(
            winner,
            [by_name[name] for name in verdict.order if name != winner.name],
            _cheaper_missers(everybody, winner, verdict),
            verdict.metric,
            plan.contract,
        ),
        crossover=None
        if verdict.crossover is None
        else Number(value=verdict.crossover, unit="/s", basis=Basis.MEASUREMENT),
        rule=verdict.rule,
        blockers=blockers(plan, verdict, everybody, checks, stamp=stamp, today=now.date()),
        stamp=stamp,
        exit_code=verdict.exit_code,
        money_not_spent=plan.money_not_spent,
    )


def _scope(winner: Contender | None) -> tuple[str, ...]:
    """That the decision is on speed alone, where the winner's weights are made up."""
    if winner is None or not winner.facts.is_dummy:
        return ()
    return (f"{winner.name} ran on dummy weights: this decides on speed alone.",)


def _clocks(winner: Contender | None) -> tuple[str, ...]:
    """At which clocks the winner's cost is meant, where some were locked."""
    if winner is None or winner.cell is None:
        return ()
    here, there = _words(winner.cell), _words(winner.production_cell)
    whose = f"The cost of {winner.name} is that at"
    at_locked = f"at the locked clocks of the comparison it is {here or 'not known'}"
    if there:
        return (f"{whose} production clocks, {there}; {at_locked}.",)
    if not here or not is_locked(winner.cell):
        return ()
    return (f"{whose} locked clocks: it was not repeated, valid and whole, at free ones.",)


def _words(cell: CellSummary | None) -> str:
    number = _measure(cell, COST.name)
    if number is None or number.value is None:
        return ""
    return amount(number.value, number.unit)


def _gap(verdict: Verdict, winner: Contender, runner_up: Contender) -> Comparison | None:
    """The winner against the runner-up in the metric of the ranking."""
    entries = entries_of([winner, runner_up], verdict.metric, at_held=False)
    if len(entries) < 2:
        return None
    found = judged(entries[winner.name], entries[runner_up.name], verdict.metric)
    return as_file(
        winner.name,
        runner_up.name,
        verdict.metric,
        found,
        None,
        basis=entries[winner.name].cell.basis,
    )


def _cheaper_missers(
    everybody: Sequence[Contender], winner: Contender, verdict: Verdict
) -> list[Contender]:
    """Candidates that miss the contract and would be better than the winner."""
    ours = score(winner.measure(winner.cell, verdict.metric.name))
    found = []
    for each in everybody:
        theirs = score(each.measure(each.cell, _whole(verdict.metric.name)))
        if each.standing != "misses" or ours is None or theirs is None:
            continue
        ratio = theirs / _all_tokens(winner, verdict, ours)
        if (ratio < 1) == (verdict.metric.better == "lower"):
            found.append(each)
    return sorted(found, key=lambda each: each.name)


def _whole(metric: str) -> str:
    """The measure over all tokens: under another limit these would be compliant ones."""
    return "usd_per_1m_output" if metric == COST.name else "output_tokens_per_s"


def _all_tokens(winner: Contender, verdict: Verdict, ours: float) -> float:
    return score(winner.measure(winner.cell, _whole(verdict.metric.name))) or ours


def _ranking(
    plan: RunPlan,
    everybody: Sequence[Contender],
    verdict: Verdict,
    checks: Checks,
    today: dt.date,
) -> tuple[Ranked, ...]:
    """Ranked candidates in their order, then the others by standing and name."""
    ranks = {name: place for place, name in enumerate(verdict.order, start=1)}
    last = len(ranks) + 1

    def place(each: Contender) -> tuple[int, int, str]:
        return ranks.get(each.name, last), _STANDINGS.index(each.standing), each.name

    return tuple(
        _ranked(plan, each, ranks.get(each.name), checks, today)
        for each in sorted(everybody, key=place)
    )


def _ranked(
    plan: RunPlan, each: Contender, rank: int | None, checks: Checks, today: dt.date
) -> Ranked:
    fleet = fleet_of(each, plan.contract) if each.complies else None
    basis = Basis.SIMULATION if plan.rehearsal else Basis.MEASUREMENT
    return Ranked(
        name=each.name,
        rank=rank,
        standing=each.standing,
        why=each.why,
        clauses=dict(each.clauses),
        decision_point=None if each.cell is None else each.cell.load_point,
        usd_per_1m=_cost(each),
        usd_per_1m_at_held=_measure(each.held_cell, COST.name),
        compliant_tok_per_machine_hour=_measure(each.cell, "compliant_tok_per_machine_hour"),
        held_rate=each.held,
        instances=None if fleet is None else fleet.instances,
        monthly_usd=monthly_number(fleet, currency_of(each.facts), basis),
        limiter=limiter_of(each),
        unsignable=() if each.cell is None else unsignable(each, plan.contract, checks, today),
    )


def _cost(each: Contender) -> Number | None:
    """What its tokens cost; at the clocks of production where they were measured there."""
    repeated = each.production_cell
    cost = _measure(repeated, COST.name)
    if cost is None:
        return _measure(each.cell, COST.name)
    words = "; ".join(filter(None, (cost.note, "at production clocks")))
    return cost.model_copy(update={"note": words})


def _measure(cell: CellSummary | None, name: str) -> Number | None:
    return None if cell is None else cell.measures.get(name)
