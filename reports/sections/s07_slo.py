"""How the contract is kept as the load rises, and how long the tail is."""

from __future__ import annotations

from typing import Any

from reports.figures import attainment, load_curve, tail
from reports.figures.gathered import gathered
from reports.report import Report

TITLE = "The contract under load"


def section(report: Report) -> dict[str, Any]:
    """Figures 3 and 5 side by side, and 4, which has three panels."""
    return gathered(report, attainment, tail, load_curve)
