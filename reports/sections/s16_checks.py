"""The evidence checks: what was required, seen and needed, and what was waived."""

from __future__ import annotations

from collections import Counter
from typing import Any

from reports.report import Report
from reports.run.checks_file import Check, CheckVerdict
from reports.signing import waivers
from reports.tables import Cell, Column, Meaning, Table

TITLE = "Evidence checks"
_SHORT, _WHOLE = 8, 64  # hexadecimal digits of a hash
MEANING: dict[CheckVerdict, Meaning] = {
    "pass": "pass",
    "fail": "fail",
    "unknown": "warn",
    "not applicable": "none",
}
MARK = {"pass": "✓ pass", "fail": "✗ fail", "unknown": "? unknown", "not applicable": "n/a"}
_COLUMNS = tuple(
    Column(title=title)
    for title in ("Check", "Requirement", "Seen", "Needed", "Verdict", "Evidence")
)


def section(report: Report) -> dict[str, Any]:
    """What did not pass first, then everything."""
    checks = report.checks.checks
    rest = tuple(each for each in checks if each.verdict in ("fail", "unknown"))
    return {
        "counts": counts(report),
        "open": _table(report, rest, "Not passed") if rest else None,
        "all": _table(report, checks, "All checks") if checks else None,
        "number": len(checks),
        "files": files_table(report),
    }


def counts(report: Report) -> str:
    """How many checks have each verdict."""
    checks = report.checks.checks
    found = Counter(each.verdict for each in checks)
    waived = sum(1 for each in checks if each.name in waivers(report))
    parts = [f"{found[verdict]:,} {verdict}" for verdict in MEANING if found[verdict]]
    text = f"{len(checks):,} checks: {', '.join(parts) or 'none were made'}"
    return f"{text}; {waived:,} waived." if waived else f"{text}."


def _table(report: Report, checks: tuple[Check, ...], title: str) -> Table:
    waived = waivers(report)
    rows = tuple(_row(report, each, waived.get(each.name)) for each in checks)
    return Table(title=title, columns=_COLUMNS, rows=rows)


def _row(report: Report, check: Check, waiver: str | None) -> tuple[Cell, ...]:
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
        _evidence(report, check.evidence),
    )


def _weight(check: Check) -> str:
    if check.verdict not in ("fail", "unknown"):
        return ""
    parts = [
        "decides" if check.decisive else "",
        "" if check.waivable else "no waiver covers it",
    ]
    return ", ".join(part for part in parts if part)


def _evidence(report: Report, names: tuple[str, ...]) -> Cell:
    """The first file with the head of its hash; the others are in the table below."""
    if not names:
        return Cell(text="plan, summary and ledger")
    more = f"; {len(names) - 1:,} more below" if len(names) > 1 else ""
    return Cell(text=names[0], detail=f"{_hash(report, names[0], _SHORT)}{more}")


def _hash(report: Report, name: str, length: int) -> str:
    digest = report.files.get(name)
    return f"SHA-256 {digest[:length]}" if digest else "not in the manifest"


def files_table(report: Report) -> Table | None:
    """Each file that a check names, its SHA-256 and the checks; None where none is named."""
    named: dict[str, list[str]] = {}
    for check in report.checks.checks:
        for name in check.evidence:
            named.setdefault(name, []).append(check.id)
    rows = tuple(
        (
            Cell(text=name),
            Cell(text=_hash(report, name, _WHOLE).removeprefix("SHA-256 ")),
            Cell(text=", ".join(sorted(set(ids)))),
        )
        for name, ids in sorted(named.items())
    )
    columns = (Column(title="File"), Column(title="SHA-256"), Column(title="Checks"))
    return Table(title="Files of evidence", columns=columns, rows=rows) if rows else None
