"""What a user sees, what a device delivers, and what that costs."""

from __future__ import annotations

from typing import Any

from reports.figures import cost, frontier
from reports.figures.gathered import gathered
from reports.report import Report

TITLE = "Frontier and cost"


def section(report: Report) -> dict[str, Any]:
    """Figures 1 and 2."""
    return gathered(report, frontier, cost)
