"""The machines as they describe themselves, and the exact launches."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from catalog.calibration.file import CalibrationFile
from catalog.quantity import significant
from reports.calibration_tables import all_reduce_table, figures_table
from reports.control_tables import settings_table, telemetry_table
from reports.number_words import DASH
from reports.report import Report
from reports.run.host_file import HostFile
from reports.run.plan_file import CandidateFacts
from reports.tables import Cell, Column, Table

TITLE = "System and launch"
_UNSTATED = "not stated"


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchText:
    """One candidate's launch: what it is, its command, environment and identity."""

    name: str
    what: str
    command: str
    environment: tuple[str, ...]
    identity: tuple[tuple[str, str], ...]


def section(report: Report) -> dict[str, Any]:
    """Tables of the hosts' facts, settings and devices, and a launch per candidate."""
    return {
        "hosts": _hosts(report.hosts) if report.hosts else None,
        "differences": tuple(
            f"{host.host}: {line}" for host in report.hosts for line in host.differences
        ),
        "launches": tuple(
            _launch(report, each) for each in report.plan.candidates if each.measured
        ),
        "load_from": _load_from(report),
        "prices": _prices(report),
        "settings": settings_table(report.controls),
        "devices": telemetry_table(report),
        "calibrations": tuple(
            (figures_table(each), all_reduce_table(each.all_reduces), *_told(each))
            for each in report.calibrations
        ),
    }


def _told(file: CalibrationFile) -> tuple[str, tuple[str, ...], tuple[str, ...]]:
    """When and how a calibration was made, what disturbed it, what it could not measure."""
    how = f"{file.source}, {file.mode}, {file.day.isoformat()}"
    return (
        how,
        file.disturbances,
        tuple(f"{each.what}: {each.why}" for each in file.unavailable),
    )


def _hosts(hosts: tuple[HostFile, ...]) -> Table:
    names = sorted({name for host in hosts for name in host.facts})
    columns = (Column(title="Fact"), *(Column(title=host.host) for host in hosts))
    rows = [
        (Cell(text=name.replace("_", " ")), *(_fact(host.facts.get(name)) for host in hosts))
        for name in names
    ]
    ordered = (
        Cell(text="ordered"),
        *(Cell(text=_flat(host.order) or "nothing: it was there") for host in hosts),
    )
    return Table(title="Machines", columns=columns, rows=(ordered, *rows))


def _fact(value: Any) -> Cell:
    if value is None:
        return Cell(text=DASH, meaning="none", detail="not reported")
    if isinstance(value, bool):
        return Cell(text="yes" if value else "no")
    if isinstance(value, float):
        return Cell(text=significant(value, 4))
    if isinstance(value, Mapping | list | tuple):
        return Cell(text=_plain(value) or "none")
    return Cell(text=f"{value:,}" if isinstance(value, int) else str(value))


def _plain(value: Any) -> str:
    """Lists and named values without brackets."""
    if isinstance(value, Mapping):
        return _flat(value)
    if isinstance(value, list | tuple):
        apart = "; " if any(isinstance(each, Mapping) for each in value) else ", "
        return apart.join(_plain(each) for each in value)
    return str(value)


def _flat(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name.replace('_', ' ')} {_plain(value)}"
        for name, value in values.items()
        if value is not None
    )


def _launch(report: Report, facts: CandidateFacts) -> LaunchText:
    seen = next((each for (name, _), each in report.launches.items() if name == facts.name), {})
    plan = facts.launch or {}
    argv = seen.get("argv") or plan.get("argv") or ()
    environment = seen.get("environment") or plan.get("env") or {}
    return LaunchText(
        name=facts.name,
        what=" ".join(filter(None, (facts.runtime, facts.version)))
        or ", ".join(facts.endpoints),
        command=shlex.join(str(word) for word in argv),
        environment=tuple(f"{name}={value}" for name, value in sorted(environment.items())),
        identity=tuple(_identity(facts, seen, plan)),
    )


def _identity(
    facts: CandidateFacts, seen: Mapping[str, Any], plan: Mapping[str, Any]
) -> Iterator[tuple[str, str]]:
    yield "fingerprint", str(seen.get("fingerprint") or facts.fingerprint or "not known")
    unmanaged = plan.get("unmanaged")
    image = unmanaged.get("image") if isinstance(unmanaged, Mapping) else None
    if image:
        yield "image", str(image)
    yield "checkpoint", facts.checkpoint or "not known"
    phases = [each for each in seen.get("phases") or () if each.get("duration_ns") is not None]
    if phases:
        yield (
            "start of the first launch",
            ", ".join(
                f"{each['name']} {significant(each['duration_ns'] / 1e9)} s" for each in phases
            ),
        )


def _load_from(report: Report) -> str:
    where = report.plan.load_from
    if where == "candidate":
        return (
            "Load came from the candidate's own host: no network lies between, and the client "
            "shares the machine."
        )
    return f"Load came from {where}."


def _prices(report: Report) -> Table | None:
    rows = []
    for each in report.plan.candidates:
        price = each.price
        if price is None:
            rows.append(
                (
                    Cell(text=each.name),
                    Cell(text=DASH, meaning="none", detail="unknown"),
                    *(Cell(text=_UNSTATED),) * 4,
                )
            )
            continue
        currency, _, per = price.unit.partition("/")
        rows.append(
            (
                Cell(text=each.name),
                Cell(
                    text=f"{significant(price.value)} {currency} per {per}",
                    detail=price.basis.value,
                ),
                Cell(text=price.sold_as or _UNSTATED),
                Cell(text=price.commitment or _UNSTATED),
                Cell(text=price.source or _UNSTATED),
                Cell(
                    text=price.date or _UNSTATED,
                    meaning="warn" if price.stale else "",
                    detail="stale" if price.stale else "",
                ),
            )
        )
    columns = tuple(
        Column(title=t)
        for t in ("Candidate", "Price", "Sold as", "Commitment", "Source", "Date")
    )
    return Table(title="Prices", columns=columns, rows=tuple(rows)) if rows else None
