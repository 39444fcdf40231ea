"""A what-if in words: whether the decision stays, why, and what the answer cannot say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from reports.contract_words import stated
from reports.run.decision_file import Decision, Ranked
from reports.run.plan_file import RunPlan
from reports.run.read import Run
from reports.run.whatif_file import AtRate
from reports.whatif.asked import Asked


def is_same(then: Decision, now: Decision) -> bool:
    """Whether outcome and winner are the same."""
    return (then.outcome, then.winner) == (now.outcome, now.winner)


def sentence_of(then: Decision, now: Decision) -> str:
    """Whether the decision stays, and why, in one sentence."""
    said = now.sentence.removesuffix(".")
    if is_same(then, now):
        if now.outcome in ("inconclusive", "none complies", "nothing measured"):
            return f"Still {said[0].lower()}{said[1:]}."
        return f"The decision stays: {said}."
    causes = "; ".join(_causes(then, now))
    because = f" (because {causes})" if causes else ""
    return f"The decision changes from {_short(then)} to {_short(now)}: {said}{because}."


def unknown_sentence(answers: Sequence[AtRate], asked: Asked) -> str:
    """Why nothing is decided at a load that was not measured, and what is known of it."""
    rate = asked.rate_per_s if asked.point is None else asked.point.rate_per_s
    name = "" if asked.point is None else asked.point.name
    where = name if rate is None else f"{stated(rate)}/s"
    who = "nothing" if asked.point is None else "not every candidate"
    told = "; ".join(f"{each.candidate}: {each.answer} ({each.why})" for each in answers)
    return f"Unknown: at {where} {who} was measured. {told}."


def _short(decision: Decision) -> str:
    if decision.winner is None or decision.outcome == "depends on demand":
        return f'"{decision.outcome}"'
    if decision.chosen is None:
        return f'"{decision.outcome}", a tie taken for {decision.winner}'
    return decision.winner


def _causes(then: Decision, now: Decision) -> Iterator[str]:
    """Candidates whose standing is another one; a change of rank is in the decision's words."""
    before = {each.name: each for each in then.ranking}
    for each in now.ranking:
        was = before[each.name]
        if was.standing != each.standing:
            yield f"{each.name} was {_stood(was)} and is {_stood(each)}"


def _stood(each: Ranked) -> str:
    words = {"complies": "complying", "misses": "missing the contract"}
    return words.get(each.standing, f'"{each.standing}"')


def _currencies(plan: RunPlan) -> list[str]:
    """Those of the prices of measured candidates."""
    prices = [each.price for each in plan.candidates if each.measured]
    return sorted({price.unit.partition("/")[0] for price in prices if price is not None})


def caveats(run: Run, plan: RunPlan, now: Decision) -> Iterator[str]:
    """What the evidence cannot bear, carried over from the run or due to what was asked."""
    if now.stamp != "MEASURED":
        yield f"The evidence is stamped {now.stamp}, and so is whatever is supposed on it."
    for each in now.ranking:
        if each.standing == "no valid evidence":
            yield f"{each.name} has no valid evidence: {each.why}."
    currencies = _currencies(plan)
    if len(currencies) > 1 and currencies != _currencies(run.plan):
        yield f"Prices are in {' and '.join(currencies)}, and amounts are never converted."
    if plan.contract.slo != run.plan.contract.slo:
        skipped = {
            str(line.get("candidate"))
            for line in run.ledger
            if line.get("event") == "skipped" and line.get("candidate")
        }
        if skipped:
            yield (
                f"Loads above a miss of the run's own limits were not measured of "
                f"{', '.join(sorted(skipped))}: under wider limits they may hold more."
            )
    for facts, was in zip(plan.candidates, run.plan.candidates, strict=True):
        if facts.verdict != was.verdict:
            yield (
                f"{facts.name} was voted out on paper under the run's own contract alone: "
                "it may hold this one, and was not measured."
            )
        if facts.price != was.price and not facts.measured:
            yield f"{facts.name} was not measured: its price changes nothing."
