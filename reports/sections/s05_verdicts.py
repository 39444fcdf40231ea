"""The verdict table: a row per candidate, each row one cell, sorted by the decision."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final

from catalog.quantity import Basis, significant
from reports.cell.problems import causes
from reports.contract_words import itl_name, stated
from reports.decide.held import why_none_proven
from reports.idle import idle_words
from reports.number_words import DASH, digits, stacked_cell
from reports.report import Report
from reports.run.decision_file import Ranked
from reports.run.number import Number
from reports.run.summary_file import CandidateSummary, CellSummary, ClauseSummary, ClauseVerdict
from reports.tables import Cell, Column, Meaning, Table

TITLE = "Verdict table"
_NUMBERS: Final = 11  # columns that only a measured candidate fills
VERDICT_MEANING: dict[ClauseVerdict, Meaning] = {
    "holds": "pass",
    "misses": "fail",
    "inconclusive": "warn",
    "no such clause": "",
}
_MARK = {
    "holds": "✓\N{NO-BREAK SPACE}",
    "misses": "✗\N{NO-BREAK SPACE}",
    "inconclusive": "?\N{NO-BREAK SPACE}",
    "no such clause": "",
}
STANDING_MEANING: dict[str, Meaning] = {
    "complies": "pass",
    "misses": "fail",
    "failed": "fail",
    "inconclusive": "warn",
    "needs quality proof": "warn",
    "no valid evidence": "warn",
}


def section(report: Report) -> dict[str, Any]:
    """The table with its reading."""
    return {
        "table": verdict_table(report),
        "basis": _basis_words(report),
        "ranked_by": report.decision.ranked_by,
        "goodput": goodput_table(report),
        "depends": tuple(_depends(report)),
        "idle": tuple(filter(None, (idle_words(report, each) for each in report.places))),
    }


def verdict_table(report: Report) -> Table:
    """One row per candidate in the order of the decision."""
    rows = tuple(_row(report, each) for each in report.places)
    return Table(title="Verdicts", columns=_columns(report), rows=rows)


def goodput_table(report: Report) -> Table | None:
    """Goodput under each ITL statistic; None where nothing was judged."""
    rows = []
    for ranked in report.places:
        cell = report.decision_cell(ranked.name)
        if cell is None or not cell.goodput:
            continue
        found = (cell.goodput.get(name) for name in ("tpot", "p95_gap", "max_gap"))
        rows.append((Cell(text=ranked.name), *(_clause_cell(each) for each in found)))
    columns = (
        Column(title="Candidate"),
        Column(title="by TPOT", unit="%", right=True),
        Column(title="by p95 gap", unit="%", right=True),
        Column(title="by largest gap", unit="%", right=True),
    )
    return (
        Table(title="Goodput by ITL statistic", columns=columns, rows=tuple(rows))
        if rows
        else None
    )


def _columns(report: Report) -> tuple[Column, ...]:
    slo = report.plan.contract.slo
    percentile, itl = f"p{slo.percentile:g}", itl_name(slo)
    return (
        Column(title="Candidate"),
        Column(title="Stands"),
        Column(title="$ per 1M", unit="compliant tokens", right=True),
        Column(title="Goodput", unit="% of scheduled", right=True),
        Column(title="Rate held", unit="requests/s", right=True),
        Column(title=f"TTFT {percentile}", unit="ms", right=True),
        Column(title=f"{itl} {percentile}", unit="ms", right=True),
        Column(title="E2E p95", unit="ms", right=True),
        Column(title="Output", unit="tokens/s per device", right=True),
        Column(title="Load seen", unit="requests/s", right=True),
        Column(title="Failed", unit="of sent", right=True),
        Column(title="Runs", unit="launches", right=True),
        Column(title="Evidence"),
    )


def _row(report: Report, ranked: Ranked) -> tuple[Cell, ...]:
    measured, cell = report.measured(ranked.name), report.decision_cell(ranked.name)
    name = Cell(text=ranked.name, detail=_kind(report, ranked.name))
    standing = Cell(
        text=ranked.standing,
        meaning=STANDING_MEANING.get(ranked.standing, "none"),
        detail=f"rank {ranked.rank}" if ranked.rank is not None else "",
    )
    if measured is None or cell is None:
        return (name, standing, _unmeasured(report, ranked))
    return (name, standing, *_measured(measured, cell, ranked, _common(report)))


def _measured(
    measured: CandidateSummary, cell: CellSummary, ranked: Ranked, common: Basis | None
) -> tuple[Cell, ...]:
    clauses, seen = cell.clauses, cell.measures
    usd = ranked.usd_per_1m or seen.get("usd_per_1m_compliant")
    rate = seen.get("output_tok_per_s_per_device")
    return (
        stacked_cell(usd, "no price", common=common),
        _clause_cell(clauses.get("goodput"), counts=_counts(cell), common=common),
        _held(ranked, measured),
        _clause_cell(clauses.get("ttft"), seen.get("ttft_p95_ms"), common=common),
        _clause_cell(clauses.get("itl"), seen.get("tpot_p95_ms"), common=common),
        stacked_cell(seen.get("e2e_p95_ms"), common=common),
        stacked_cell(rate, "no device count", common=common),
        _range(measured),
        _failed(cell),
        Cell(text=str(len(cell.replications))),
        _evidence(cell),
    )


def _unmeasured(report: Report, ranked: Ranked) -> Cell:
    """One cell in place of eleven numbers: why there are none."""
    facts = report.facts(ranked.name)
    skipped = facts.skipped if facts is not None and not facts.measured else None
    why = skipped or ranked.why or "no cell at the load that decides"
    return Cell(text=f"{DASH} not measured: {why}", meaning="none", columns=_NUMBERS)


def _common(report: Report) -> Basis | None:
    """Measurement where every cell of the table is one; figures of another kind all say so."""
    cells = (report.decision_cell(each.name) for each in report.places)
    found = {cell.basis for cell in cells if cell is not None}
    return Basis.MEASUREMENT if found == {Basis.MEASUREMENT} else None


def _basis_words(report: Report) -> str:
    if _common(report) is None:
        return "Each figure has the letter of its basis."
    return "Every figure is a measurement, but for those with a letter of their own."


def _kind(report: Report, name: str) -> str:
    facts = report.facts(name)
    if facts is None:
        return ""
    if facts.kind == "endpoint":
        return "endpoint, uncontrolled"
    device = f"{facts.device_count}× {facts.device}" if facts.device else facts.host
    return ", ".join(
        part
        for part in (device, " ".join(filter(None, (facts.runtime, facts.version))))
        if part
    )


def _range(measured: CandidateSummary) -> Cell:
    rates = [
        number.value
        for cell in measured.cells
        if (number := cell.measures.get("achieved_rate") or cell.measures.get("requests_per_s"))
        and number.value is not None
    ]
    if not rates:
        return Cell(text=DASH, meaning="none", detail="not reported")
    low, high = significant(min(rates), 2), significant(max(rates), 2)
    points = f"{len(measured.cells)} load point{'s' if len(measured.cells) != 1 else ''}"
    return Cell(text=low if low == high else f"{low}–{high}", detail=points)


def _held(ranked: Ranked, measured: CandidateSummary) -> Cell:
    bracket = ranked.held_rate
    if bracket is None or (bracket.highest_proven is None and bracket.lowest_disproven is None):
        why = why_none_proven(measured) or "no open-loop rate judged"
        return Cell(text=DASH, meaning="none", detail=why)
    above = bracket.lowest_disproven
    missed = "" if above is None else f"misses at {stated(above)}"
    if bracket.highest_proven is None:
        return Cell(text=f"< {stated(above or 0)}", detail="none proven")
    return Cell(text=f"≥ {stated(bracket.highest_proven)}", detail=missed)


def _clause_cell(
    clause: ClauseSummary | None,
    seen: Number | None = None,
    counts: str = "",
    common: Basis | None = None,
) -> Cell:
    """A clause's interval with its verdict; the measure beside it where the clause has none."""
    number = clause.number if clause is not None else seen
    if clause is None or clause.verdict == "no such clause":
        shown = stacked_cell(seen or number, "no such clause", common=common)
        return replace(shown, detail=counts or shown.detail)
    if number is not None and number.value is None:
        number = seen or number
    shown = stacked_cell(number, common=common)
    return replace(
        shown,
        text=f"{_MARK[clause.verdict]}{shown.text}",
        meaning=VERDICT_MEANING[clause.verdict],
        detail=shown.detail or counts,
    )


def _counts(cell: CellSummary) -> str:
    """``k/n`` over all launches, where the documents have the counts."""
    found = [each.document.get("goodput", {}).get("tpot", {}) for each in cell.replications]
    clause = cell.clauses.get("goodput")
    if clause is not None:
        for name in ("p95_gap", "max_gap"):
            if name in clause.statistic:
                found = [
                    each.document.get("goodput", {}).get(name, {}) for each in cell.replications
                ]
    good = [each.get("compliant") for each in found]
    all_of = [each.get("scheduled") for each in found]
    if not good or None in good or None in all_of:
        return ""
    return f"{sum(good):,}/{sum(all_of):,}"


def _failed(cell: CellSummary) -> Cell:
    counts = cell.requests
    sent = counts.get("sent", 0)
    bad = sum(counts.get(name, 0) for name in ("failed", "truncated", "timed_out", "cancelled"))
    share = f"{digits(bad / sent, '1')}%" if sent else ""
    return Cell(text=f"{bad:,}", meaning="warn" if bad else "", detail=share if bad else "")


def _evidence(cell: CellSummary) -> Cell:
    meaning: Meaning = "pass" if cell.verdict == "valid" else "warn"
    told = causes(cell.verdict, cell.problems) or cell.problems[:3]
    return Cell(text=cell.verdict, meaning=meaning, detail="; ".join(told))


def _depends(report: Report) -> list[str]:
    """Candidates whose goodput verdict depends on the ITL statistic that the contract took."""
    found = []
    for ranked in report.places:
        cell = report.decision_cell(ranked.name)
        if cell is None:
            continue
        verdicts = {each.verdict for each in cell.goodput.values()} - {"no such clause"}
        if len(verdicts) > 1:
            found.append(
                f"{ranked.name}: the goodput verdict depends on the ITL statistic "
                f"({', '.join(sorted(verdicts))})."
            )
    return found
