"""The controlled variables: what was asked of each, and what was seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from reports.contract_words import lengths, load
from reports.number_words import digits, launches
from reports.report import Report
from reports.run.plan_file import CandidateFacts
from reports.run.summary_file import CellSummary
from reports.tables import Cell, Column, Meaning, Table

TITLE = "Controlled variables: asked and seen"
_UNASKED, _SILENT = "not asked", "not reported"
_COMMON = tuple(Column(title=t) for t in ("Category", "Variable", "Asked", "Seen"))
_OWN = tuple(Column(title=t) for t in ("Variable", "Asked", "How", "Seen", "Fits"))
_FITS: Mapping[str, tuple[str, Meaning]] = {
    "match": ("✓ as asked", "pass"),
    "differs": ("✗ differs", "fail"),
    "recorded": ("recorded", ""),
    "not offered": ("not offered", "none"),
}
_Own = tuple[str, str, str, str, str]


def section(report: Report) -> dict[str, Any]:
    """The variables that all candidates share, then each candidate's own."""
    launched = [each for each in report.plan.candidates if each.measured]
    return {
        "common": Table(title="Workload", columns=_COMMON, rows=tuple(_common(report))),
        "own": [(each.name, *_own_tables(report, each)) for each in launched],
    }


def _common(report: Report) -> Iterator[tuple[Cell, ...]]:
    plan = report.plan
    contract, matrix = plan.contract, plan.matrix
    cells = [cell for c in report.summary.candidates for cell in c.cells]
    yield _line("Model checkpoint", "model", contract.model, _served(report))
    yield _line(
        "", "weights, KV cache", f"{contract.weights}, {contract.kv_cache}", "see below"
    )
    yield _line(
        "Workload profile",
        "input length",
        lengths(contract.prompt_tokens),
        _lengths(cells, "prompt"),
    )
    yield _line(
        "",
        "output length",
        f"{lengths(contract.output_tokens)}, {contract.output}",
        _lengths(cells, "output"),
    )
    for point in matrix.load_points:
        yield _line("", f"arrivals, {point.name}", load(point), _arrivals(report, point.name))
    yield _line("Hardware testbed", "devices", _ordered(report), "see System and launch")
    yield _line(
        "Execution controls",
        "warm-up",
        f"{matrix.warmup}, {matrix.warmup_requests} requests at most",
        _warmup(cells),
    )
    yield _line("", "timed requests", f"≥ {matrix.requests:,} per cell", _timed(cells))
    yield _line("", "replications", launches(matrix.replications), _launches(cells))
    yield _line("", "seed", f"{matrix.seed}, temperature 0", "the same for each candidate")


def _line(category: str, variable: str, asked: str, seen: str) -> tuple[Cell, ...]:
    return (Cell(text=category), Cell(text=variable), Cell(text=asked), Cell(text=seen))


def _served(report: Report) -> str:
    found = {
        str(model)
        for launch in report.launches.values()
        for model in launch.get("models") or ()
    }
    return ", ".join(sorted(found)) or _SILENT


def _lengths(cells: list[CellSummary], which: str) -> str:
    seen = [_of(document, "lengths", which, "seen") for document in _documents(cells)]
    low = [each["min"] for each in seen if each and each.get("min") is not None]
    high = [each["max"] for each in seen if each and each.get("max") is not None]
    if not low or not high:
        return _SILENT
    least, most = f"{min(low):,g}", f"{max(high):,g}"
    return f"{least} tokens in every request" if least == most else f"{least} to {most} tokens"


def _arrivals(report: Report, point: str) -> str:
    """The achieved rates over candidates and launches at one load point."""
    cells = [cell for c in report.summary.candidates if (cell := c.cell(point)) is not None]
    rates = [each.get("achieved_rate") for each in _documents(cells)]
    known = [rate for rate in rates if rate is not None]
    return f"{_span([digits(min(known)), digits(max(known))])} requests/s" if known else _SILENT


def _ordered(report: Report) -> str:
    devices = (
        f"{each.name}: {each.device_count}× {each.device or each.host}"
        for each in report.plan.candidates
        if each.measured
    )
    return "; ".join(devices) or "none was measured"


def _span(texts: list[str]) -> str:
    return " to ".join(dict.fromkeys(texts))


def _warmup(cells: list[CellSummary]) -> str:
    found = [_of(document, "warmup") for document in _documents(cells)]
    counts = [each["requests"] for each in found if each and "requests" in each]
    if not counts:
        return _SILENT
    converged = sum(1 for each in found if each and each.get("converged"))
    span = _span([str(min(counts)), str(max(counts))])
    return f"{span} requests; converged in {converged} of {len(found)}"


def _timed(cells: list[CellSummary]) -> str:
    counts = [each.get("requests", {}).get("measured") for each in _documents(cells)]
    known = [each for each in counts if each is not None]
    if not known:
        return _SILENT
    return f"{_span([f'{min(known):,}', f'{max(known):,}'])} per replication"


def _launches(cells: list[CellSummary]) -> str:
    counts = sorted({len(cell.replications) for cell in cells})
    if not counts:
        return "none"
    return _span([str(counts[0]), str(counts[-1])])


def _documents(cells: list[CellSummary]) -> list[Mapping[str, Any]]:
    return [each.document for cell in cells for each in cell.replications]


def _of(document: Mapping[str, Any], *path: str) -> Any:
    found: Any = document
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found


def _own_tables(report: Report, facts: CandidateFacts) -> tuple[Table | None, Table | None]:
    """What was asked or seen, and what was left to the engine and is reported by nothing."""
    rows = tuple(_own_rows(report, facts))
    known = tuple(row for row in rows if row[1].text != _UNASKED or row[3].text != _SILENT)
    left = tuple(row for row in rows if row not in known)
    title = f"Variables of {facts.name}"
    return (
        Table(title=title, columns=_OWN, rows=known) if known else None,
        Table(title=f"{title} left to the engine", columns=_OWN, rows=left) if left else None,
    )


def _own_rows(report: Report, facts: CandidateFacts) -> Iterator[tuple[Cell, ...]]:
    asked = dict(_mapping((facts.launch or {}).get("controlled")))
    seen = _seen(report, facts.name)
    for name in dict.fromkeys((*asked, *seen)):
        stated = _mapping(asked.get(name))
        back = seen.get(name, [])
        values = dict.fromkeys(str(each.get("seen")) for each in back if each.get("seen"))
        verdicts = {str(each.get("verdict")) for each in back}
        worst = next(
            (v for v in ("differs", "not offered", "match") if v in verdicts), "recorded"
        )
        text, meaning = _FITS[worst] if back else ("nothing to compare", "none")
        wish = stated.get("asked", next((each.get("asked") for each in back), None))
        yield (
            Cell(text=name.replace("_", " ")),
            Cell(text=_UNASKED if wish is None else str(wish)),
            Cell(text=str(stated.get("how") or _UNASKED), detail=str(stated.get("note") or "")),
            Cell(text=", ".join(values) or _SILENT),
            Cell(text=text, meaning=meaning),
        )


def _seen(report: Report, name: str) -> dict[str, list[Mapping[str, Any]]]:
    found: dict[str, list[Mapping[str, Any]]] = {}
    for (candidate, _), launch in report.launches.items():
        if candidate == name:
            for each in launch.get("read_back") or ():
                found.setdefault(str(each.get("variable")), []).append(each)
    return found


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
