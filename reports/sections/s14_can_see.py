"""The operating characteristic of the verdict: what a plan of this size can and cannot see."""

from __future__ import annotations

from typing import Any

from reports.number_words import amount, launches
from reports.report import Report
from reports.stats.operating import operating_characteristic, operating_rows
from reports.tables import Cell, Column, Table

TITLE = "What the verdict can see"


def section(report: Report) -> dict[str, Any]:
    """How often simulated campaigns of this size find what is true, or why it is not known."""
    matrix, goodput = report.plan.matrix, report.plan.contract.slo.goodput
    stored = operating_characteristic()
    asked = f"{launches(matrix.replications)} of {matrix.requests:,} requests"
    if goodput is None:
        return {"why": "The contract asks for no goodput, so none is judged."}
    if goodput != stored.target:
        known, own = amount(stored.target, "1"), amount(goodput, "1")
        return {"why": f"Simulated were verdicts on {known} good; the contract asks for {own}."}
    head, *rows = operating_rows(stored.of_plan(matrix.requests, matrix.replications))
    if not rows:
        return {"why": f"It asked for {asked}: fewer than any campaign that was simulated."}
    columns = tuple(Column(title=title, right=place > 1) for place, title in enumerate(head))
    return {
        "why": None,
        "target": f"{stored.target * 100:g}%",
        "campaigns": f"{stored.campaigns:,}",
        "asked": asked,
        "table": Table(
            title="Operating characteristic",
            columns=columns,
            rows=tuple(tuple(Cell(text=text) for text in row) for row in rows),
        ),
    }
