"""Threats and limits."""

from __future__ import annotations

from typing import Any

from reports.report import Report
from reports.threats import threats

TITLE = "Threats and limits"


def section(report: Report) -> dict[str, Any]:
    """Every threat in a sentence, and the entries that were the user's own."""
    return {"threats": threats(report), "own": report.plan.user_entries}
