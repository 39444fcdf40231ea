"""A what-if as tables and one sentence, and as a document for programs."""

from __future__ import annotations

from collections.abc import Iterator

from flows.console import Console
from reports.metric_names import statistic_name
from reports.number_words import DASH, amount
from reports.run.decision_file import Decision, Ranked
from reports.run.number import Number
from reports.run.whatif_file import STAMP, WhatIf
from reports.tables import Cell, Column, Meaning, Table
from reports.whatif import Supposed

_STANDING: dict[str, Meaning] = {"complies": "pass", "misses": "fail", "failed": "fail"}
_ANSWER: dict[str, Meaning] = {"holds": "pass", "misses": "fail"}


def show_whatif(console: Console, found: Supposed) -> None:
    """What was asked for, both decisions side by side, and whether it stays."""
    console.paragraphs([f"{STAMP}: run {found.run}, nothing measured, nothing written"], "")
    if found.changes:
        console.table(_changes(found))
    if found.now is not None:
        console.table(_decisions(found.then, found.now))
        console.paragraphs(_reasons(found.then, found.now))
    if found.answers:
        console.table(_answers(found))
    console.heading("Decision")
    console.paragraphs([found.sentence, *found.caveats])


def _changes(found: Supposed) -> Table:
    return Table(
        title="Asked",
        columns=tuple(Column(title=title) for title in ("what", "of", "in the run", STAMP)),
        rows=tuple(
            tuple(Cell(text=text) for text in (each.what, each.of, each.was, each.now))
            for each in found.changes
        ),
    )


def _decisions(then: Decision, now: Decision) -> Table:
    before = _by_name(then)
    columns = [
        Column(title="candidate"),
        *_pair("place"),
        *_pair("cost of 1M compliant", right=True),
        *_pair("holds up to", right=True),
    ]
    has_fleets = any(each.monthly_usd for each in (*then.ranking, *now.ranking))
    if has_fleets:
        columns += _pair("per month", right=True)
    rows = (_row(before[each.name], each, has_fleets=has_fleets) for each in now.ranking)
    return Table(
        title="Decision in the run and what-if", columns=tuple(columns), rows=tuple(rows)
    )


def _pair(title: str, *, right: bool = False) -> tuple[Column, Column]:
    return Column(title=title, right=right), Column(title=STAMP, right=right)


def _row(was: Ranked, now: Ranked, *, has_fleets: bool) -> tuple[Cell, ...]:
    cells = [Cell(text=now.name), _place(was), _place(now)]
    cells += [_number(each.usd_per_1m) for each in (was, now)]
    cells += [_held(each) for each in (was, now)]
    if has_fleets:
        cells += [_number(each.monthly_usd) for each in (was, now)]
    return tuple(cells)


def _by_name(decision: Decision) -> dict[str, Ranked]:
    return {each.name: each for each in decision.ranking}


def _reasons(then: Decision, now: Decision) -> Iterator[str]:
    """Why a candidate stands elsewhere than in the run."""
    before = _by_name(then)
    for each in now.ranking:
        if each.why and each.standing not in (before[each.name].standing, "complies"):
            yield f"{each.name} {each.standing}: {statistic_name(each.why)}"


def _place(each: Ranked) -> Cell:
    rank = "" if each.rank is None else f"{each.rank}. "
    return Cell(text=f"{rank}{each.standing}", meaning=_STANDING.get(each.standing, ""))


def _number(number: Number | None) -> Cell:
    if number is None or number.value is None:
        return Cell(text=DASH, meaning="none")
    return Cell(text=amount(number.value, number.unit))


def _held(each: Ranked) -> Cell:
    bracket = each.held_rate
    if bracket is None or bracket.highest_proven is None:
        return Cell(text=DASH, meaning="none")
    return Cell(text=amount(bracket.highest_proven, "/s"))


def _answers(found: Supposed) -> Table:
    return Table(
        title="At a load that was not measured",
        columns=tuple(Column(title=title) for title in ("candidate", "answer", "why")),
        rows=tuple(
            (
                Cell(text=each.candidate),
                Cell(text=each.answer, meaning=_ANSWER.get(each.answer, "warn")),
                Cell(text=each.why),
            )
            for each in found.answers
        ),
    )


def document(found: Supposed) -> WhatIf:
    """The answer for programs; the two decisions are as ``decision.json`` has them."""
    return WhatIf(
        run=found.run,
        evidence=found.evidence,
        asked=found.changes,
        is_changed=found.is_changed,
        sentence=found.sentence,
        caveats=found.caveats,
        answers=found.answers,
        then=found.then,
        now=found.now,
    )
