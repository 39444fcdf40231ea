"""The doctor's readings and a campaign's findings as tables."""

from __future__ import annotations

from collections.abc import Sequence

from flows.doctor.reading import Reading
from flows.preflight import Finding
from flows.system.facts import Bandwidth
from reports.tables import Cell, Column, Meaning, Table

_MEANING: dict[str, Meaning] = {
    "ok": "pass",
    "none": "none",
    "warns": "warn",
    "blocks": "fail",
}
_SHOWN = {"none": "–"}


def machine_table(readings: Sequence[Reading], title: str = "This machine") -> Table:
    """What was looked at, its state, what was seen, what to do."""
    rows = [(each.topic, each.state, each.seen, each.do) for each in readings]
    return _table(title, "what", rows)


def campaign_table(name: str, findings: Sequence[Finding]) -> Table:
    """What stands against a campaign, the obstacles first."""
    rows = [(each.where, each.severity, each.seen, each.do) for each in findings]
    return _table(f"Before campaign {name} starts", "where", rows)


def bandwidth_line(found: Bandwidth) -> str:
    """The measured bandwidth of main memory with its spread and how it was measured."""
    low, middle, high = (rate / 1e9 for rate in (found.lowest, found.median, found.highest))
    spread = f"{found.basis}; {low:.1f} to {high:.1f}"
    return f"main memory: {middle:.1f} GB/s ({spread}), {found.method}"


def _table(title: str, first: str, rows: Sequence[tuple[str, str, str, str]]) -> Table:
    return Table(
        title=title,
        columns=tuple(Column(title=name) for name in (first, "state", "seen", "do")),
        rows=tuple(
            (
                Cell(text=what),
                Cell(text=_SHOWN.get(state, state), meaning=_MEANING[state]),
                Cell(text=seen),
                Cell(text=do or "–", meaning="" if do else "none"),
            )
            for what, state, seen, do in rows
        ),
    )
