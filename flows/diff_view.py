"""Two runs side by side, as tables."""

from __future__ import annotations

from catalog.quantity import significant
from flows.console import Console
from reports.diff import Compared, Difference, RunDiff
from reports.run.number import Number
from reports.tables import Cell, Column, Meaning, Table

_MEANING: dict[str | None, Meaning] = {"better": "pass", "worse": "fail"}
_LONGEST = 60
DASH = "–"


def show_diff(console: Console, found: RunDiff) -> None:
    """What differs, what was measured, and whether the decision is another one."""
    console.paragraphs([f"A: {found.a}", f"B: {found.b}"], indent="")
    if found.differences:
        console.table(_facts(found.differences))
    else:
        console.paragraphs(["Nothing differs in what was asked or in what it ran on."], "")
    if found.compared:
        console.table(_measures(found.compared))
    console.heading("Decision")
    console.paragraphs(found.decision)


def _facts(differences: tuple[Difference, ...]) -> Table:
    return Table(
        title="Differences",
        columns=tuple(Column(title=title) for title in ("part", "what", "A", "B")),
        rows=tuple(
            (
                Cell(text=each.part),
                Cell(text=each.what),
                Cell(text=_short(each.a)),
                Cell(text=_short(each.b)),
            )
            for each in differences
        ),
    )


def _measures(compared: tuple[Compared, ...]) -> Table:
    left = ("candidate", "load point", "measure")
    right = ("A", "B", "B over A", "95% interval")
    return Table(
        title="Medians over launches",
        columns=(
            *(Column(title=title) for title in left),
            *(Column(title=title, right=True) for title in right),
            Column(title="B is"),
        ),
        rows=tuple(_measure(each) for each in compared),
    )


def _measure(each: Compared) -> tuple[Cell, ...]:
    limits = DASH
    if each.low is not None and each.high is not None:
        limits = f"{significant(each.low)} to {significant(each.high)}"
    return (
        Cell(text=each.candidate),
        Cell(text=each.load_point),
        Cell(text=each.measure),
        Cell(text=_median(each.a)),
        Cell(text=_median(each.b)),
        Cell(text=DASH if each.ratio is None else significant(each.ratio)),
        Cell(text=limits),
        Cell(text=each.word or DASH, meaning=_MEANING.get(each.word, ""), detail=each.why),
    )


def _median(number: Number | None) -> str:
    return DASH if number is None or number.value is None else significant(number.value)


def _short(text: str | None) -> str:
    if text is None:
        return DASH
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
