"""Tables of a machine's settings, and of what its devices did in the cells that decide."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from catalog.quantity import significant
from reports.number_words import DASH
from reports.report import Report
from reports.run.control_file import ControlFile, ControlSetting
from reports.tables import Cell, Column, Meaning, Table
from reports.telemetry.voids import FLAGGING, VOIDING, reasons


def settings_table(controls: Sequence[ControlFile]) -> Table | None:
    """Every setting that was asked of a host; None where none was."""
    rows = [_setting(file.host, each) for file in controls for each in file.settings]
    titles = ("Host", "Setting", "Asked", "Found before", "Read back", "Under load", "Restored")
    return _table("Settings", titles, rows)


def telemetry_table(report: Report) -> Table | None:
    """One row per device and replication of each decision cell; None without samples."""
    rows = [
        row
        for found in report.summary.candidates
        for cell in found.cells
        if cell.load_point == report.decision_point(found.name)
        for each in cell.replications
        for row in _devices(f"{found.name}, launch {each.replication}", each.telemetry)
    ]
    titles = ("Launch", "Device", "Graphics clock", "At the locked clock", "Power", "Hottest")
    more = ("Energy per output token", "Held back by")
    return _table("Devices in the decision cells", (*titles, *more), rows)


def _table(title: str, titles: Sequence[str], rows: list[tuple[Cell, ...]]) -> Table | None:
    columns = tuple(Column(title=each) for each in titles)
    return Table(title=title, columns=columns, rows=tuple(rows)) if rows else None


def _setting(host: str, each: ControlSetting) -> tuple[Cell, ...]:
    seen = each.observed
    is_made = each.status in ("applied", "accepted")
    back: Meaning = "fail" if each.restored is False else ""
    return (
        Cell(text=host),
        Cell(text=f"{each.name.replace('_', ' ')}, {each.target}"),
        Cell(text=each.requested),
        _known(each.before, "not read"),
        _known(each.applied, "not told")
        if is_made
        else Cell(text=each.status, meaning="warn", detail=each.said),
        _known(f"{seen.low:.0f} to {seen.high:.0f}" if seen else None, "not sampled"),
        _known({True: "yes", False: "no", None: None}[each.restored], "not changed", back),
    )


def _devices(launch: str, told: Mapping[str, Any] | None) -> Iterator[tuple[Cell, ...]]:
    token_j = (told or {}).get("energy_j_per_output_token")
    source = (told or {}).get("energy_from") or ""
    for number, (name, device) in enumerate(((told or {}).get("devices") or {}).items()):
        span, share = device["graphics_mhz"], device["share_at_target"]
        yield (
            Cell(text=launch),
            Cell(text=f"GPU {name}"),
            _none("not told")
            if span is None
            else Cell(
                text=f"{span['low']:.0f} to {span['high']:.0f} MHz",
                detail=f"median {span['median']:.0f}",
            ),
            _none("not locked")
            if share is None
            else Cell(text=f"{share:.0%} of samples", detail=f"{device['target_mhz']:.0f} MHz"),
            _amount(device["power_w"], "W"),
            _amount(device["temperature_c"], "°C"),
            _amount(token_j, "J", f"all devices, {source}")
            if number == 0
            else Cell(text="above", meaning="none"),
            _held_back(device["reasons"]),
        )


def _held_back(mask: int | None) -> Cell:
    if mask is None:
        return Cell(text="not told", meaning="none")
    grave, light = reasons(mask, VOIDING), reasons(mask, FLAGGING)
    meaning: Meaning = "fail" if grave else "warn" if light else ""
    return Cell(text=", ".join((*grave, *light)) or "nothing", meaning=meaning)


def _amount(value: float | None, unit: str, detail: str = "") -> Cell:
    if value is None:
        return _none("not told")
    return Cell(text=f"{significant(value)} {unit}", detail=detail)


def _known(text: str | None, why_not: str, meaning: Meaning = "") -> Cell:
    return _none(why_not) if text is None else Cell(text=text, meaning=meaning)


def _none(why: str) -> Cell:
    return Cell(text=DASH, meaning="none", detail=why)
