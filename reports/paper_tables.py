"""The tables of the paper vote: verdicts, and gates with their margins."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.facts import PARITY
from catalog.screen import Screen
from catalog.verdict import GateResult, Status, Verdict
from reports.lines import Line
from reports.phrases import (
    TAGS,
    decisive_basis,
    gate_name,
    layout,
    money,
    percent,
    plain,
    tagged,
    usable,
)
from reports.tables import Cell, Column, Meaning, Table

MEANING: dict[Status, Meaning] = {
    Status.PASS: "pass",
    Status.REJECT: "fail",
    Status.UNLIKELY: "warn",
    Status.UNKNOWN: "warn",
    Status.NOT_APPLICABLE: "none",
}
WORDS = {status: status.value for status in Status} | {Status.NOT_APPLICABLE: "–"}
_VERDICTS = (
    Column(title="candidate"),
    Column(title="layout"),
    Column(title="runtime"),
    Column(title="verdict"),
    Column(title="rank"),
    Column(title="decided by"),
    Column(title="price a", right=True),
    Column(title="best $/1M b", right=True),
)


def verdict_table(lines: Sequence[Line], title: str = "Verdicts") -> Table:
    """One row per line: what it is, its verdict, what decided, and what it costs."""
    return Table(title=title, columns=_VERDICTS, rows=tuple(map(_verdict_row, lines)))


def gate_table(screen: Screen) -> Table:
    """One row per gate, one column per candidate: status, margin, both figures, the limit."""
    columns = (Column(title="gate"), *(Column(title=c.name) for c in screen.candidates))
    names = [gate.gate for gate in screen.candidates[0].gates] if screen.candidates else []
    rows = tuple(
        (Cell(text=gate_name(name)), *(gate_cell(c.gate(name)) for c in screen.candidates))
        for name in names
    )
    return Table(title="Gates", columns=columns, rows=rows)


def gate_matrix(lines: Sequence[Line]) -> Table:
    """One row per line, one column per gate that any is asked: status and margin."""
    named = [gate.gate for gate in lines[0].first.gates] if lines else []
    gates = [name for name in named if any(_is_asked(line, name) for line in lines)]
    unasked = [gate_name(name) for name in named if name not in gates]
    columns = (Column(title="candidate"), *(Column(title=gate_name(gate)) for gate in gates))
    rows = tuple(
        (Cell(text=line.name), *(_margin_cell(line.first.gate(gate)) for gate in gates))
        for line in lines
    )
    title = f"Gates (not asked: {', '.join(unasked)})" if unasked else "Gates"
    return Table(title=title, columns=columns, rows=rows)


def _is_asked(line: Line, gate: str) -> bool:
    return line.first.gate(gate).status is not Status.NOT_APPLICABLE


def gate_cell(gate: GateResult) -> Cell:
    """Status and margin; below them the figures with their basis and what they must keep."""
    return Cell(text=gate_word(gate), meaning=MEANING[gate.status], detail=_figures(gate))


def _verdict_row(line: Line) -> tuple[Cell, ...]:
    first = line.first
    return (
        Cell(text=line.name),
        Cell(text=layout(first), detail=first.offer or ""),
        Cell(text=line.engines, detail=_precision(first)),
        Cell(text=WORDS[first.verdict], meaning=MEANING[first.verdict]),
        Cell(text=line.ranks or "–"),
        Cell(text=_decided(first), detail=first.clause or ""),
        Cell(text=money(first.hourly, first.currency, "/h"), detail=_staleness(first)),
        Cell(text=money(first.cost, first.currency), detail=_stated_per_token(first)),
    )


def _precision(candidate: Verdict) -> str:
    """Weights, KV cache where it differs, and whether quality must be proven."""
    formats = [candidate.precision or "", candidate.kv_precision or ""]
    words = list(dict.fromkeys(word for word in formats if word))
    proof = [] if candidate.parity == PARITY else [candidate.parity]
    return ", ".join(["/".join(words), *proof]) if words else ""


def _decided(candidate: Verdict) -> str:
    return gate_name(candidate.decided_by) if candidate.decided_by else "–"


def _stated_per_token(candidate: Verdict) -> str:
    """Marks a price per token, which is stated and no bound."""
    is_stated = candidate.best_tokens_per_hour is None
    return "stated" if is_stated and candidate.cost is not None else ""


def _staleness(candidate: Verdict) -> str:
    return "stale" if candidate.stale else ""


def gate_word(gate: GateResult) -> str:
    """Status and margin: ``pass +53%``."""
    word = WORDS[gate.status]
    return word if gate.margin is None else f"{word} {percent(gate.margin)}"


def _margin_cell(gate: GateResult) -> Cell:
    basis = decisive_basis(gate)
    tag = f" {TAGS[basis]}" if basis is not None else ""
    return Cell(text=gate_word(gate) + tag, meaning=MEANING[gate.status])


def _figures(gate: GateResult) -> str:
    """``8.461 ms b, 11.83 ms a ≤ 25 ms``; memory has a limit of its own for each figure."""
    bound, assumption = gate.bound, gate.assumption
    figures = [tagged(figure) for figure in (bound, assumption) if figure is not None]
    if gate.limit is None or not figures:
        return ", ".join(figures)
    allowed = usable(gate)
    if assumption is None or allowed is None or allowed == gate.limit:
        return f"{', '.join(figures)} ≤ {plain(gate.limit)}"
    return f"{figures[0]} ≤ {plain(gate.limit)}, {figures[-1]} ≤ {plain(allowed)}"
