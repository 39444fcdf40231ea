"""The operating characteristic of the verdict: what a plan of this size can and cannot see."""

from __future__ import annotations

from typing import Any

from reports.report import Report
from reports.stats.operating import operating_characteristic, operating_rows
from reports.tables import Cell, Column, Table

TITLE = "What the verdict can see"


def section(report: Report) -> dict[str, Any] | None:
    """How often simulated campaigns of this size find what is true; None without a goodput."""
    matrix, slo = report.plan.matrix, report.plan.contract.slo
    stored = operating_characteristic()
    if slo.goodput != stored.target:
        return None
    head, *rows = operating_rows(stored.of_plan(matrix.requests, matrix.replications))
    if not rows:
        return None
    columns = tuple(Column(title=title, right=place > 1) for place, title in enumerate(head))
    return {
        "target": f"{stored.target * 100:g}%",
        "campaigns": f"{stored.campaigns:,}",
        "asked": f"{matrix.replications} launches of {matrix.requests:,} requests",
        "table": Table(
            title="Operating characteristic",
            columns=columns,
            rows=tuple(tuple(Cell(text=text) for text in row) for row in rows),
        ),
    }
