"""Dimension by candidate with the basis of each row: the paper's figures, then the measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reports.contract_words import itl_name
from reports.number_words import DASH, basis_of, stacked_cell
from reports.report import Report
from reports.run.number import Number
from reports.run.summary_file import CellSummary
from reports.table_one import Pair, Row, headings, table_one
from reports.tables import Cell, Column, Table

TITLE = "Table 1: every figure and what it rests on"
_OPEN = "p95 TTFT, p95 ITL, queue time, goodput"
_TIER = "Empirical Observable"
_Get = Callable[[CellSummary], Number | None]


def section(report: Report) -> dict[str, Any] | None:
    """The table; None for a run without a paper vote."""
    screen = report.screen
    if screen is None or not screen.candidates:
        return None
    columns = (
        Column(title="Dimension"),
        *(Column(title=name) for name, _ in headings(screen)),
        Column(title="Basis"),
    )
    paper = tuple(_paper(row) for row in table_one(screen, {}) if row.dimension != _OPEN)
    names = tuple(candidate.name for candidate in screen.candidates)
    measured = tuple(_measured(report, names))
    return {
        "table": Table(title="Table 1", columns=columns, rows=(*paper, *measured)),
        "layouts": headings(screen),
    }


def _paper(row: Row) -> tuple[Cell, ...]:
    cells = (
        Cell(
            text=pair.ours,
            meaning=pair.meaning,
            detail=_below(pair),
        )
        for pair in row.pairs
    )
    return (Cell(text=row.dimension), *cells, Cell(text=row.tier, detail=row.basis))


def _below(pair: Pair) -> str:
    """The lesson's figure; where we have none, why not."""
    why = (pair.why or "not known") if pair.ours == DASH else ""
    lesson = f"lesson {pair.lesson}" if pair.lesson else ""
    return "; ".join(part for part in (why, lesson) if part)


def _measured(report: Report, names: tuple[str, ...]) -> list[tuple[Cell, ...]]:
    itl = itl_name(report.plan.contract.slo)
    wanted: tuple[tuple[str, str, _Get], ...] = (
        ("p95 TTFT", "ms", _measure("ttft_p95_ms")),
        (f"p95 ITL ({itl})", "ms", _clause_or("itl", "tpot_p95_ms")),
        ("p95 queue time in the server", "ms", _measure("server_queue_time_p95_ms")),
        ("Goodput", "%", _clause("goodput")),
        ("Output tokens per second and device", "tokens/s", _device),
        ("1M compliant output tokens", "$", _measure("usd_per_1m_compliant")),
    )
    return [_row(report, names, *each) for each in wanted]


def _row(
    report: Report, names: tuple[str, ...], title: str, unit: str, get: _Get
) -> tuple[Cell, ...]:
    cells, numbers = [], []
    standings = {each.name: each.standing for each in report.decision.ranking}
    for name in names:
        cell = report.decision_cell(name)
        number = get(cell) if cell is not None else None
        why = standings.get(name, "not measured")
        numbers.append(number)
        cells.append(stacked_cell(number, why))
    seen = basis_of(numbers)
    basis = Cell(text=_TIER, detail="not measured (OPEN)" if seen == DASH else seen)
    return (Cell(text=f"{title}, {unit}"), *cells, basis)


def _measure(name: str) -> _Get:
    return lambda cell: cell.measures.get(name)


def _device(cell: CellSummary) -> Number | None:
    return cell.measures.get("output_tok_per_s_per_device")


def _clause(name: str) -> _Get:
    def get(cell: CellSummary) -> Number | None:
        clause = cell.clauses.get(name)
        return None if clause is None else clause.number

    return get


def _clause_or(name: str, measure: str) -> _Get:
    def get(cell: CellSummary) -> Number | None:
        clause = cell.clauses.get(name)
        if clause is None or clause.number.value is None:
            return cell.measures.get(measure)
        return clause.number

    return get
