"""Candidates against each other: the ratios, their intervals, and the words they allow."""

from __future__ import annotations

from typing import Any

from reports.figures import forest
from reports.figures.forest import WORD_MEANING, interval_of
from reports.figures.gathered import gathered
from reports.metric_names import metric_name
from reports.number_words import p_words
from reports.report import Report
from reports.run.decision_file import Comparison
from reports.tables import Cell, Column, Table

TITLE = "Head to head"
_COLUMNS = (
    Column(title="Candidate"),
    Column(title="Against"),
    Column(title="Metric"),
    Column(title="Ratio", unit="low–middle–high", right=True),
    Column(title="p", right=True),
    Column(title="p adjusted", unit="Holm", right=True),
    Column(title="Word"),
    Column(title="How"),
)


def section(report: Report) -> dict[str, Any] | None:
    """Figure 7 and the table of pairs; None where nothing was compared."""
    comparisons = report.decision.comparisons
    if not comparisons:
        return None
    table = Table(
        title="Pairs", columns=_COLUMNS, rows=tuple(_row(each) for each in comparisons)
    )
    return {**gathered(report, forest), "table": table}


def _row(each: Comparison) -> tuple[Cell, ...]:
    return (
        Cell(text=each.candidate),
        Cell(text=each.against),
        Cell(text=metric_name(each.metric)),
        Cell(text=interval_of(each.ratio)),
        Cell(text=p_words(each.p)),
        Cell(text=p_words(each.p_adjusted)),
        Cell(text=each.word, meaning=WORD_MEANING.get(each.word, ""), detail=each.why),
        Cell(
            text=f"{'paired by launch' if each.paired else 'unpaired'}, ±{each.margin * 100:g}%"
        ),
    )
