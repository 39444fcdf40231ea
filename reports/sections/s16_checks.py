"""The evidence checks: what was required, seen and needed, and what was waived."""

from __future__ import annotations

from collections import Counter
from typing import Any

from reports.report import Report
from reports.run.checks_file import Check, CheckVerdict
from reports.signing import waivers
from reports.tables import Cell, Column, Meaning, Table

TITLE = "Evidence checks"
MEANING: dict[CheckVerdict, Meaning] = {
    "pass": "pass",
    "fail": "fail",
    "unknown": "warn",
    "not applicable": "none",
}
MARK = {"pass": "✓ pass", "fail": "✗ fail", "unknown": "? unknown", "not applicable": "– n/a"}
_COLUMNS = tuple(
    Column(title=title)
    for title in ("Check", "Requirement", "Seen", "Needed", "Verdict", "Evidence")
)


def section(report: Report) -> dict[str, Any]:
    """What did not pass first, then everything."""
    waived = waivers(report)
    checks = report.checks.checks
    rest = tuple(each for each in checks if each.verdict in ("fail", "unknown"))
    return {
        "counts": counts(report),
        "open": _table(rest, waived, "Not passed") if rest else None,
        "all": _table(checks, waived, "All checks") if checks else None,
        "number": len(checks),
    }


def counts(report: Report) -> str:
    """How many checks have each verdict."""
    checks = report.checks.checks
    found = Counter(each.verdict for each in checks)
    waived = sum(1 for each in checks if each.name in waivers(report))
    parts = [f"{found[verdict]:,} {verdict}" for verdict in MEANING if found[verdict]]
    text = f"{len(checks):,} checks: {', '.join(parts) or 'none were made'}"
    return f"{text}; {waived:,} waived." if waived else f"{text}."


def _table(checks: tuple[Check, ...], waived: Any, title: str) -> Table:
    rows = tuple(_row(each, waived.get(each.name)) for each in checks)
    return Table(title=title, columns=_COLUMNS, rows=rows)


def _row(check: Check, waiver: str | None) -> tuple[Cell, ...]:
    of = [check.candidate, check.load_point]
    if check.replication is not None:
        of.append(f"launch {check.replication}")
    verdict = Cell(
        text=MARK[check.verdict],
        meaning=MEANING[check.verdict],
        detail=f"waived: {waiver}" if waiver else _weight(check),
    )
    return (
        Cell(text=check.id, detail=", ".join(part for part in of if part)),
        Cell(text=check.requirement),
        Cell(text=check.observed),
        Cell(text=check.needed),
        verdict,
        Cell(text=_files(check.evidence)),
    )


def _weight(check: Check) -> str:
    if check.verdict not in ("fail", "unknown"):
        return ""
    parts = [
        "decides" if check.decisive else "",
        "" if check.waivable else "no waiver covers it",
    ]
    return ", ".join(part for part in parts if part)


def _files(evidence: tuple[str, ...]) -> str:
    if len(evidence) <= 2:
        return ", ".join(evidence) or "–"
    return f"{evidence[0]} and {len(evidence) - 1:,} more"
