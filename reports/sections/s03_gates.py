"""The paper vote: candidate by gate, the formulas, and the money that was not spent."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from catalog.gate_result import GateResult
from catalog.screen import Screen
from catalog.verdict import Status, Verdict
from reports.calibration_tables import STAYS_ASSUMPTION, side_by_side, still_open
from reports.figures import memory
from reports.figures.gathered import gathered
from reports.number_words import number_phrase
from reports.paper_tables import MEANING, gate_cell
from reports.phrases import TAGS, decisive_basis, gate_name, percent
from reports.report import Report
from reports.tables import Cell, Column, Table
from reports.words import elimination, not_passed

TITLE = "Gates"
_MARK = {
    Status.PASS: "✓",
    Status.REJECT: "✗",
    Status.UNLIKELY: "? unlikely",
    Status.UNKNOWN: "? unknown",
    Status.NOT_APPLICABLE: "–",
}


def section(report: Report) -> dict[str, Any] | None:
    """The gate matrix; None for a run without a paper vote."""
    screen = report.screen
    if screen is None or not screen.candidates:
        return None
    return {
        **gathered(report, memory),
        "matrix": _matrix(screen),
        "measured": side_by_side(screen),
        "still_open": (STAYS_ASSUMPTION, *still_open(screen)) if report.calibrations else (),
        "moved": tuple(_moved(report)),
        "stopped": tuple(elimination(each) for each in not_passed(screen)),
        "explanations": tuple(_explanation(each) for each in screen.candidates),
        "not_spent": _not_spent(report),
    }


def _moved(report: Report) -> Iterator[str]:
    """Candidates whose verdict is another one since their host was measured."""
    before, screen = report.screen_before, report.screen
    if before is None or screen is None:
        return
    verdicts = {each.name: each.verdict for each in before.candidates}
    for each in screen.candidates:
        was = verdicts.get(each.name)
        if was is not None and was is not each.verdict:
            yield (
                f"{each.name} was {was.value} by assumptions, as the plan was made, and is "
                f"{each.verdict.value} by what was measured on its host."
            )


def _matrix(screen: Screen) -> Table:
    gates = [gate.gate for gate in screen.candidates[0].gates]
    columns = (
        Column(title="Candidate"),
        *(Column(title=gate_name(gate)) for gate in gates),
        Column(title="Verdict on paper"),
    )
    rows = tuple((*_row(each), _verdict(each)) for each in screen.candidates)
    return Table(title="Gates", columns=columns, rows=rows)


def _row(candidate: Verdict) -> tuple[Cell, ...]:
    cells = [Cell(text=candidate.name)]
    for gate in candidate.gates:
        basis = decisive_basis(gate)
        margin = "" if gate.margin is None else f" {percent(gate.margin)}"
        letter = f" {TAGS[basis]}" if basis is not None else ""
        cells.append(
            Cell(
                text=f"{_MARK[gate.status]}{margin}{letter}",
                meaning=MEANING[gate.status],
                detail=_below(gate),
            )
        )
    return tuple(cells)


def _below(gate: GateResult) -> str:
    """The figures behind a margin; why a gate does not apply."""
    if gate.status is Status.NOT_APPLICABLE:
        return gate.reason
    return gate_cell(gate).detail if gate.margin is not None else ""


def _verdict(candidate: Verdict) -> Cell:
    ranks = ", ".join(rank.value for rank in candidate.ranks)
    return Cell(text=candidate.verdict.value, meaning=MEANING[candidate.verdict], detail=ranks)


def _explanation(candidate: Verdict) -> tuple[str, list[tuple[str, str, list[str]]]]:
    return candidate.name, [
        (gate_name(gate.gate), gate.formula, gate.explanation.splitlines())
        for gate in candidate.gates
        if gate.status is not Status.NOT_APPLICABLE
    ]


def _not_spent(report: Report) -> str:
    """Who was stopped on paper, and what measuring them would have cost."""
    stopped = [e.name for e in report.decision.ranking if e.standing == "voted out on paper"]
    number = report.decision.money_not_spent or report.plan.money_not_spent
    if not stopped:
        return "The gates stopped no candidate, so they saved nothing."
    who = f"Stopped on paper, not measured and so not paid for: {', '.join(stopped)}."
    if number is None or number.value is None:
        return f"{who} What that would have cost is unknown."
    return f"{who} That is {number_phrase(number)} not spent."
