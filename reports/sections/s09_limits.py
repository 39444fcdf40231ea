"""What limits each candidate: what was measured, what it means, what to do, how to verify."""

from __future__ import annotations

from typing import Any

from reports.metric_names import statistic_name
from reports.report import Report
from reports.tables import Cell, Column, Table

TITLE = "What limits each candidate"
_WORDS = {"ttft": "TTFT", "itl": "ITL", "kv memory": "KV memory"}
_COLUMNS = tuple(
    Column(title=title)
    for title in ("Candidate", "Limited by", "Measured", "Means", "Do", "Verify")
)


def section(report: Report) -> dict[str, Any] | None:
    """A row per measured candidate; None where nothing was measured."""
    rows = tuple(
        (
            Cell(text=each.name),
            Cell(
                text=_WORDS.get(each.limiter.what, each.limiter.what),
                meaning="" if each.limiter.what == "nothing seen" else "warn",
            ),
            Cell(text=statistic_name(each.limiter.measured)),
            Cell(text=each.limiter.means),
            Cell(text=each.limiter.do),
            Cell(text=each.limiter.verify),
        )
        for each in report.places
        if each.limiter is not None
    )
    if not rows:
        return None
    return {"table": Table(title="Limits", columns=_COLUMNS, rows=rows)}
