"""Who has signed a run: rows and lines of what its ``signoff.json`` holds."""

from __future__ import annotations

from collections.abc import Mapping

from reports.report import Report
from reports.tables import Cell


def signoff_rows(report: Report) -> tuple[tuple[Cell, ...], ...]:
    """A row for each approval, last what is signed; no row as long as nobody has signed."""
    found = report.signoff
    if found is None:
        return ()
    changed = found.manifest_sha256 != report.manifest
    digest = Cell(
        text=found.manifest_sha256,
        meaning="fail" if changed else "",
        detail="the run has changed since: this is not its manifest" if changed else "",
    )
    return tuple(
        (
            Cell(text=each.role),
            Cell(text=each.by, detail="with a detached signature" if each.signed else ""),
            Cell(text=each.at),
            Cell(text=each.statement, detail=f"scope: {found.scope}"),
            digest,
        )
        for each in found.approvals
    )


def waivers(report: Report) -> Mapping[str, str]:
    """Reason by the name of the check that a person has waived."""
    found = report.signoff.waivers if report.signoff is not None else ()
    return {waiver.check: waiver.reason for waiver in found}


def waiver_lines(report: Report) -> tuple[str, ...]:
    """Each waiver with its reason."""
    return tuple(f"{name}: {reason}" for name, reason in sorted(waivers(report).items()))
