"""A decision at today's prices, from the baseline's stored figures: nothing is measured."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from catalog.sale import is_stale
from reports.conclusion import concluded
from reports.decide import decide
from reports.decide.metric import YIELD, currency_of
from reports.gathered import gathered
from reports.reevaluate.answer import OPEN, REGRESSED, VALID
from reports.reevaluate.changes import contract_changes, price_words
from reports.reevaluate.pin import evidence_of, origin_of
from reports.repriced import summary_at_prices, with_prices
from reports.run.decision_file import Decision
from reports.run.plan_file import METHOD_VERSION, ContractFacts, PriceFacts, RunPlan
from reports.run.read import Run
from reports.run.reevaluation_file import Answer, Change, Reason, Reevaluation
from reports.validity import read_on

STAMP: Final = "PRICES ONLY"
MEANS: Final = "Nothing was measured: the baseline's figures at other prices. Never signed."


@dataclass(frozen=True, slots=True, kw_only=True)
class Today:
    """What today's campaign file and catalog state.

    ``prices`` are by candidate (None: not known), ``rules`` those of how to decide, by the
    plan's names.
    """

    contract: ContractFacts
    prices: Mapping[str, PriceFacts | None]
    rules: Mapping[str, Any]


def at_todays_prices(
    run: Run, today: Today, now: dt.datetime, *, manifest_sha256: str
) -> Reevaluation:
    """Whether the run's decision stands at today's prices, with its winner as the incumbent.

    Challengers that today's file does not name keep the prices that they had; without the
    winner there nothing is answered.

    Raises
    ------
    ReportsError
        For a run that names nobody, or evidence that is missing or damaged.
    """
    origin, winner = origin_of(run), run.decision.winner or ""
    prices = dict(_prices(run, today, winner, origin))
    plan = with_prices(run.plan, prices).model_copy(
        update={**today.rules, "incumbent": winner, "exploratory": run.plan.exploratory}
    )
    files = replace(gathered(run), plan=plan)
    found = concluded(files, summary_at_prices(run.summary, plan), now).decision
    before = _before(run, plan, now)
    answer, sentence, code = _answer(winner, found)
    if YIELD.words in found.ranked_by and YIELD.words not in before.ranked_by:
        answer, sentence, code = "inconclusive", _not_comparable(plan, found), OPEN
    if origin not in today.prices:
        words = f"today's file has no candidate {origin}, so what it costs now is not known"
        answer, sentence, code = "inconclusive", f"Inconclusive: {words}.", OPEN
    return Reevaluation(
        method_version=METHOD_VERSION,
        kind="prices only",
        campaign=run.plan.campaign,
        run=run.plan.run,
        baseline=run.plan.run,
        baseline_manifest_sha256=manifest_sha256,
        answer=answer,
        sentence=sentence,
        reasons=tuple(_reasons(answer, winner, before)),
        winner_before=winner,
        winner_now=found.winner,
        control=winner,
        champion=winner,
        changes=(
            *_changes(run.plan, plan),
            *contract_changes(run.plan.contract, today.contract),
        ),
        warnings=(*_warnings(run, today), *_stale(plan, now.date())),
        notes=(MEANS,),
        stamp=STAMP,
        exit_code=code,
    )


def _prices(
    run: Run, today: Today, winner: str, origin: str
) -> Iterator[tuple[str, PriceFacts | None]]:
    """The control of an earlier re-evaluation has the price of whom it stood for."""
    for each in run.plan.candidates:
        name = origin if each.name == winner else each.name
        if name in today.prices:
            yield each.name, today.prices[name]


def _before(run: Run, plan: RunPlan, now: dt.datetime) -> Decision:
    """The same rules at the prices that the run had."""
    same = plan.model_copy(update={"candidates": run.plan.candidates})
    return decide(same, run.summary, run.checks, now)


def _answer(winner: str, found: Decision) -> tuple[Answer, str, int]:
    if found.winner == winner:
        words = f"Still valid at today's prices: {winner} stays."
        return "still valid", words, VALID
    if found.winner is not None:
        words = f"The decision changed: at today's prices {found.sentence}"
        return "decision changed", words, REGRESSED
    if found.outcome == "none complies":
        words = f"The decision changed: at today's prices {found.sentence}"
        return "decision changed", words, REGRESSED
    return "inconclusive", f"Inconclusive at today's prices: {found.sentence}", OPEN


def _not_comparable(plan: RunPlan, found: Decision) -> str:
    """Why today's prices rank nobody, where the old ones did."""
    holding = [each for each in plan.candidates if found.of(each.name).standing == "complies"]
    unknown = sorted(each.name for each in holding if each.price is None)
    kinds = sorted({kind for each in holding if (kind := currency_of(each))})
    why = f"they are in {' and '.join(kinds)}, and none is converted"
    if unknown:
        why = f"that of {', '.join(unknown)} is not known"
    elif len(kinds) < 2:
        why = "they are for other commitments than are ranked together"
    return f"Inconclusive: today's prices cannot be held against each other: {why}."


def _reasons(answer: Answer, winner: str, before: Decision) -> Iterator[Reason]:
    if answer != "decision changed":
        return
    if before.winner == winner:
        yield Reason(kind="price", sentence=f"at the prices that it had {winner} would stay")
        return
    words = "today's rules of how to decide give another decision at the old prices too"
    yield Reason(kind="contract", sentence=words)


def _changes(before: RunPlan, now: RunPlan) -> Iterator[Change]:
    for each in now.candidates:
        old, new = price_words(before.candidate(each.name).price), price_words(each.price)
        if old != new:
            yield Change(kind="price", candidate=each.name, what="price", before=old, now=new)


def _stale(plan: RunPlan, today: dt.date) -> Iterator[str]:
    """Prices that are too old to say what anything costs today."""
    for each in plan.candidates:
        day = read_on(each)
        if day is not None and is_stale(day, today):
            yield f"The price of {each.name} is of {day.isoformat()}: read it again."


def _warnings(run: Run, today: Today) -> Iterator[str]:
    names = {each.name for each in run.plan.candidates}
    gone = sorted(names - today.prices.keys() - {run.decision.winner or ""})
    if gone:
        yield f"Not in today's file, at the price that it had: {', '.join(gone)}."
    new = sorted(today.prices.keys() - names)
    if new:
        yield f"Not measured in the baseline, so it takes no part: {', '.join(new)}."
    if today.contract != run.plan.contract:
        yield "The contract is another one now; this decision is by the baseline's."
    if evidence_of(run.plan) != "measured":
        yield f"The baseline's figures are {evidence_of(run.plan)}."
    elif run.plan.exploratory or run.decision.stamp == "EXPLORATORY":
        yield "The baseline is exploratory: it rests on few launches or requests."
