"""What was predicted before it was measured, and how far that was off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from catalog.quantity import significant
from reports.metric_names import metric_name
from reports.number_words import digits, unit_words
from reports.report import Report
from reports.run.prediction_file import Stage
from reports.run.prediction_score_file import FigureScore, FigureTotal
from reports.tables import Cell, Column, Table

TITLE = "Predicted and measured"
_STAGES: Final[dict[Stage, str]] = {
    "before": "before anything was measured",
    "after-first-launch": "after the first launch",
}
_TIMES: Final = ("ttft", "tpot", "itl")
_SHOWN: Final = ("requests_per_s", "goodput")
_TOTALS: Final = (
    Column(title="Predicted"),
    Column(title="Figure"),
    Column(title="Cells", right=True),
    Column(title="Median error", unit="%", right=True),
    Column(title="Largest", unit="%", right=True),
    Column(title="Bias", unit="%", right=True),
    Column(title="Between P10 and P90", unit="%", right=True),
)
_CELLS: Final = (
    Column(title="Candidate"),
    Column(title="Predicted"),
    Column(title="Figure"),
    Column(title="P10–P50–P90", right=True),
    Column(title="Measured", right=True),
    Column(title="Error", unit="%", right=True),
)


def section(report: Report) -> dict[str, Any] | None:
    """Errors over all cells, then each decision cell; None where nothing was predicted."""
    score = report.prediction_score
    if score is None:
        return None
    deciding = tuple(_deciding(report, score.figures))
    return {
        "totals": Table(
            title="Errors of predictions",
            columns=_TOTALS,
            rows=tuple(_total(each) for each in score.totals),
        )
        if score.totals
        else None,
        "cells": Table(
            title="Predictions of decision cells",
            columns=_CELLS,
            rows=tuple(_cell(each) for each in deciding),
        )
        if deciding
        else None,
        "rests_on": tuple(_rests_on(report)),
        "unknown": score.unknown,
        "unscored": score.unscored,
    }


def _deciding(report: Report, figures: tuple[FigureScore, ...]) -> Iterator[FigureScore]:
    points = {name: report.decision_point(name) for name in {f.candidate for f in figures}}
    percent = f"p{report.plan.contract.slo.percentile:g}"
    shown = {*(f"{time}_{percent}_ms" for time in _TIMES), *_SHOWN}
    for each in figures:
        if each.load_point == points[each.candidate] and each.figure in shown:
            yield each


def _total(each: FigureTotal) -> tuple[Cell, ...]:
    return (
        Cell(text=_STAGES[each.stage]),
        Cell(text=metric_name(each.figure)),
        Cell(text=f"{each.cells}"),
        Cell(text=_percent(each.median_error)),
        Cell(text=_percent(each.largest_error)),
        Cell(text=_signed(each.bias)),
        Cell(text=_percent(each.inside)),
    )


def _cell(each: FigureScore) -> tuple[Cell, ...]:
    low, middle, high = (digits(value, each.unit) for value in (each.p10, each.p50, each.p90))
    unit = unit_words(each.unit)
    return (
        Cell(text=each.candidate),
        Cell(text=_STAGES[each.stage]),
        Cell(text=metric_name(each.figure), detail=unit),
        Cell(text=f"{low}–{middle}–{high}"),
        Cell(text=digits(each.measured, each.unit), meaning="" if each.inside else "warn"),
        Cell(text=_signed(each.error)),
    )


def _rests_on(report: Report) -> Iterator[str]:
    for file in report.predictions:
        for each in file.candidates:
            if each.rests_on:
                yield f"{each.candidate}, {_STAGES[file.stage]}: {'; '.join(each.rests_on)}."


def _percent(share: float) -> str:
    return significant(share * 100, 2)


def _signed(share: float) -> str:
    text = _percent(share)
    return f"+{text}" if share > 0 else text
