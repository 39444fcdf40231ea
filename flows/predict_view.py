"""Predictions as a person reads them in a terminal or in a log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from catalog.quantity import significant
from flows.console import Console
from reports.number_words import DASH, digits
from reports.run.plan_file import RunPlan
from reports.run.prediction_file import CandidatePrediction, PredictionFile, Range
from reports.tables import Cell, Column, Table

_LEGEND: Final = (
    "Each figure is P10–P50–P90 of what one launch should show. A prediction rejects nobody: "
    "it says where to look first. Its basis is prediction (model), never measurement."
)


def show_prediction(console: Console, plan: RunPlan, found: PredictionFile) -> None:
    """A row per candidate and load, the highest rates, what each rests on, who is unknown."""
    known = [each for each in found.candidates if each.unknown is None]
    console.heading(f"{plan.campaign}: predicted")
    if known:
        console.table(_table(plan, known))
        console.paragraphs([_LEGEND])
    for title, lines in (
        ("Highest rate that should hold the contract", list(_rates(known))),
        ("What that rests on", list(_grounds(known))),
        ("Unknown", list(_unknown(found))),
        ("Not measured, so not predicted", list(_left_out(plan))),
    ):
        if lines:
            console.heading(title)
            console.paragraphs(lines)


def _table(plan: RunPlan, candidates: list[CandidatePrediction]) -> Table:
    percent = f"p{plan.contract.slo.percentile:g}"
    figures = (
        (f"TTFT {percent}", f"ttft_{percent}_ms", "ms"),
        (f"TPOT {percent}", f"tpot_{percent}_ms", "ms"),
        (f"ITL {percent}", f"itl_{percent}_ms", "ms"),
        ("rate", "requests_per_s", "requests/s"),
        ("goodput", "goodput", "%"),
    )
    head = (Column(title="candidate"), Column(title="load"))
    rows = [
        (
            Cell(text=each.candidate),
            Cell(text=load.load_point),
            *(Cell(text=_range(load.figures.get(name))) for _, name, _ in figures),
        )
        for each in candidates
        for load in each.loads
        if load.unknown is None
    ]
    columns = (*head, *(Column(title=f"{t}, {unit}", right=True) for t, _, unit in figures))
    return Table(title="Predicted", columns=columns, rows=tuple(rows))


def _range(found: Range | None) -> str:
    if found is None:
        return DASH
    return "–".join(digits(each, found.unit) for each in (found.p10, found.p50, found.p90))


def _rates(candidates: list[CandidatePrediction]) -> Iterator[str]:
    for each in candidates:
        rate = each.held_rate
        if rate is not None:
            low, middle, high = (significant(v) for v in (rate.p10, rate.p50, rate.p90))
            yield f"{each.candidate}: {middle} requests/s ({low} to {high})"


def _grounds(candidates: list[CandidatePrediction]) -> Iterator[str]:
    for each in candidates:
        yield f"{each.candidate}: {'; '.join(each.rests_on)}"


def _left_out(plan: RunPlan) -> Iterator[str]:
    for each in plan.candidates:
        if not each.measured:
            yield f"{each.name}: {each.skipped or each.reason or 'it is left out'}"


def _unknown(found: PredictionFile) -> Iterator[str]:
    for each in found.candidates:
        if each.unknown is not None:
            yield f"{each.candidate}: {each.unknown}"
        for load in each.loads:
            if load.unknown is not None:
                yield f"{each.candidate} at {load.load_point}: {load.unknown}"
