"""All that differs between two runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.diff.facts import Difference, differences, verdict_of
from reports.diff.measures import Compared, compared
from reports.number_words import amount
from reports.run.decision_file import Decision, Ranked
from reports.run.number import Number
from reports.run.read import Run


@dataclass(frozen=True, slots=True, kw_only=True)
class RunDiff:
    """All differences of two runs; ``reasons`` is why the decision is another one.

    ``decision`` is that, or what both have decided, and what they have not in common.
    """

    a: str
    b: str
    differences: tuple[Difference, ...]
    compared: tuple[Compared, ...]
    is_decision_changed: bool
    reasons: tuple[str, ...]
    decision: tuple[str, ...]


def diff_runs(a: Run, b: Run) -> RunDiff:
    """What differs from A to B; ReportsError for a run that is not concluded."""
    measures = tuple(compared(a, b))
    because = tuple(reasons(a.decision, b.decision, measures))
    return RunDiff(
        a=f"{a.plan.campaign}/{a.plan.run}",
        b=f"{b.plan.campaign}/{b.plan.run}",
        differences=tuple(differences(a, b)),
        compared=measures,
        is_decision_changed=verdict_of(a.decision) != verdict_of(b.decision),
        reasons=because,
        decision=(*_apart(a, b), *(because or _alike(a.decision, b.decision))),
    )


def _apart(a: Run, b: Run) -> Iterator[str]:
    """What keeps the decisions of two runs from being about the same thing."""
    ours, theirs = ({each.name for each in x.plan.candidates} for x in (a, b))
    if ours.isdisjoint(theirs):
        yield "They have no candidate in common."
    if a.plan.contract != b.plan.contract:
        yield "Their contracts are not the same."


def _alike(a: Decision, b: Decision) -> Iterator[str]:
    """What two decisions with the same outcome say."""
    if a.outcome in ("chosen", "no difference shown"):
        yield "It is the same in both."
        return
    yield f"In neither is anything decided: {a.outcome}."
    if a.sentence != b.sentence:
        yield f"A: {a.sentence}"
        yield f"B: {b.sentence}"


def reasons(a: Decision, b: Decision, measures: Sequence[Compared]) -> Iterator[str]:
    """Why the decision is another one, as sentences; nothing where it is the same."""
    if verdict_of(a) == verdict_of(b):
        return
    yield f"A: {a.sentence}"
    yield f"B: {b.sentence}"
    if a.method_version != b.method_version:
        yield f"The runs were decided by versions {a.method_version} and {b.method_version}."
    for name in dict.fromkeys(filter(None, (a.chosen, b.chosen))):
        before, after = (_place(each, name) for each in (a, b))
        if before is None or after is None:
            yield f"{name} was a candidate only in {'B' if before is None else 'A'}."
            continue
        yield from _moved(before, after)
        for each in measures:
            if each.candidate == name and each.word in ("better", "worse"):
                point = f"{each.measure} at {each.load_point}"
                yield f"{name} got {each.word} in {point}: {each.ratio:.3g} times as much."


def _place(decision: Decision, name: str) -> Ranked | None:
    return next((each for each in decision.ranking if each.name == name), None)


def _moved(before: Ranked, after: Ranked) -> Iterator[str]:
    name = before.name
    if before.standing != after.standing:
        stood = f"{name} stood as {before.standing!r}"
        yield f"{stood} and stands as {after.standing!r}: {after.why}."
    for clause in before.clauses.keys() & after.clauses.keys():
        if before.clauses[clause] != after.clauses[clause]:
            change = f"{before.clauses[clause]!r} to {after.clauses[clause]!r}"
            yield f"The {clause} clause of {name} went from {change}."
    costs = (before.usd_per_1m, after.usd_per_1m)
    values = [None if cost is None else (cost.value, cost.unit) for cost in costs]
    if values[0] != values[1]:
        was, now = map(_cost_words, costs)
        yield f"1M compliant tokens of {name} cost {was} and now {now}."


def _cost_words(cost: Number | None) -> str:
    if cost is None or cost.value is None:
        return "unknown"
    return amount(cost.value, cost.unit.partition("/")[0])
