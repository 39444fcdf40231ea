"""What was asked: workload, limits with numerator and denominator, and what is left out."""

from __future__ import annotations

from typing import Any

from catalog.quantity import significant
from reports.contract_words import (
    arrivals_line,
    load,
    out_of_scope,
    slo_sentences,
    workload_lines,
)
from reports.report import Report
from reports.run.plan_file import DemandFacts
from reports.tables import Cell, Column, Table

TITLE = "Question"


def section(report: Report) -> dict[str, Any]:
    """The contract in sentences, and the load points that were planned."""
    contract, matrix = report.plan.contract, report.plan.matrix
    return {
        "workload": tuple(workload_lines(contract)),
        "arrivals": arrivals_line(matrix),
        "slo": tuple(slo_sentences(contract, matrix)),
        "demand": _demand(contract.demand) if contract.demand else None,
        "points": Table(
            title="Load points",
            columns=(Column(title="Load point"), Column(title="Load"), Column(title="Judged")),
            rows=tuple(
                (
                    Cell(text=point.name),
                    Cell(text=load(point)),
                    Cell(text="decides" if point.name == matrix.decision_point else "shown"),
                )
                for point in matrix.load_points
            ),
        ),
        "out_of_scope": tuple(out_of_scope(contract)),
    }


def _demand(demand: DemandFacts) -> str:
    return (
        f"Demand: {significant(demand.peak_per_s)} requests/s at peak, "
        f"{significant(demand.mean_per_s)} on average, {demand.headroom * 100:g}% headroom, "
        f"{demand.spare} spare instance{'s' if demand.spare != 1 else ''}."
    )
