"""The runtime trade-off for the candidates: what is known, and what was measured of each."""

from __future__ import annotations

from typing import Any

from reports.number_words import DASH, number_cell
from reports.report import Report
from reports.runtime_traits import runtime_traits
from reports.tables import Cell, Column, Table

TITLE = "Runtime trade-off"


def section(report: Report) -> dict[str, Any] | None:
    """A column per candidate that names a runtime; None where none does."""
    facts = [each for each in report.plan.candidates if each.runtime is not None]
    if not facts:
        return None
    known = runtime_traits()
    columns = (
        Column(title="Trait"),
        *(
            Column(title=each.name, unit=" ".join(filter(None, (each.runtime, each.version))))
            for each in facts
        ),
    )
    rows = [
        (
            Cell(text=title),
            *(
                Cell(text=known.runtimes.get(each.runtime or "", {}).get(trait, "not known"))
                for each in facts
            ),
        )
        for trait, title in known.titles.items()
    ]
    names = [each.name for each in facts]
    rows.append((Cell(text="Acquire to first token, s"), *_first_tokens(report, names)))
    rows.append((Cell(text="Start of the server, s"), *_starts(report, names)))
    return {"table": Table(title="Runtimes", columns=columns, rows=tuple(rows))}


def _first_tokens(report: Report, names: list[str]) -> list[Cell]:
    """How long one more replica would take to serve."""
    found = (report.measured(name) for name in names)
    return [number_cell(each.first_token_s if each is not None else None) for each in found]


def _starts(report: Report, names: list[str]) -> list[Cell]:
    cells = []
    for name in names:
        measured = report.measured(name)
        launches = measured.launches if measured is not None else ()
        starts = sorted(each.start_s for each in launches if each.start_s is not None)
        failed = sum(1 for each in launches if each.state != "ready")
        if not starts:
            cells.append(Cell(text=DASH, meaning="none", detail="not started"))
            continue
        middle = starts[len(starts) // 2]
        text = f"{starts[0]:.3g}–{middle:.3g}–{starts[-1]:.3g}"
        detail = f"least–median–most of {len(starts)}"
        cells.append(Cell(text=text, detail=detail + (f", {failed} failed" if failed else "")))
    return cells
