"""The history: each watched metric over comparable runs, with changes of level."""

from __future__ import annotations

from typing import Any

from reports.figures.canvas import Drawing
from reports.history.figure import Group, figure
from reports.history.pages import SEARCHED, marked_table
from reports.history.series import COMPARABLE, Series, all_series, with_changes
from reports.history.words import change_lines
from reports.report import Report

TITLE = "History"


def section(report: Report) -> dict[str, Any] | None:
    """None where too few runs can be compared for a change to be looked for."""
    series = tuple(_series(report))
    drawn = figure(_group(report, series)) if series else ""
    if not isinstance(drawn, Drawing):
        return None
    return {
        "drawing": drawn,
        "changes": change_lines(series),
        "marked": marked_table(report.history),
        "comparable": COMPARABLE,
        "searched": SEARCHED,
    }


def _series(report: Report) -> list[Series]:
    """The watched series that this run continues and that are long enough to be searched."""
    names = {each.name for each in report.plan.candidates}
    found = [
        with_changes(each)
        for each in all_series(report.history)
        if each.is_watched
        and each.key.candidate in names
        and each.seen[-1].run.run == report.plan.run
    ]
    return [each for each in found if each.changes is not None]


def _group(report: Report, series: tuple[Series, ...]) -> Group:
    places = {each.name: place for place, each in enumerate(report.plan.candidates)}
    return Group(name="history", series=series, places=places)
