"""Why not the others: the defence of the choice, candidate by candidate."""

from __future__ import annotations

from typing import Any

from reports.defence import defence
from reports.report import Report

TITLE = "Why not the others"


def section(report: Report) -> dict[str, Any] | None:
    """A sentence or two per candidate; None where there is none."""
    lines = defence(report)
    return {"defence": lines} if lines else None
