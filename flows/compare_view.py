"""The end of a campaign on a terminal or a pipe: a table, a sentence, and where the rest is."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final, TextIO

from flows.budget import totals
from flows.compare import Outcome
from flows.console import Console
from flows.errors import ExitCode
from flows.progress import left
from flows.void_words import why_void
from reports.decide.held import why_none_proven
from reports.number_words import DASH, amount
from reports.run import layout
from reports.run.decision_file import Ranked
from reports.run.number import Number
from reports.run.plan_file import RunPlan
from reports.run.summary_file import CellSummary
from reports.tables import Cell, Column, Meaning, Table

_COLUMNS: Final = (
    Column(title="candidate"),
    Column(title="SLO"),
    Column(title="max rate", right=True),
    Column(title="goodput", right=True),
    Column(title="TTFT p95", right=True),
    Column(title="TPOT p95", right=True),
    Column(title="$/Mtok", right=True),
    Column(title="evidence"),
)
_MEANINGS: Final[dict[str, Meaning]] = {
    "complies": "pass",
    "misses": "fail",
    "failed": "fail",
    "inconclusive": "warn",
    "no valid evidence": "warn",
    "needs quality proof": "warn",
}


def show_outcome(outcome: Outcome, stream: TextIO) -> None:
    """The table of all candidates, the decision in a sentence, and the files."""
    console = Console(stream)
    decision = outcome.decision
    console.table(
        Table(
            title=f"{outcome.summary.campaign}: {decision.stamp}",
            columns=_COLUMNS,
            rows=tuple(_row(outcome, each) for each in decision.ranking),
        )
    )
    console.paragraphs(_without_rate(outcome), indent="")
    lines = [decision.sentence]
    if outcome.why is not None:
        lines.append(f"It ended early: {outcome.why}")
        if outcome.exit_code == ExitCode.INTERRUPTED:
            lines.append("Go on with it: the same command with --resume latest")
    elif outcome.exit_code == ExitCode.INTERRUPTED:
        lines.append("It was interrupted when nothing was left to measure: the run is whole")
    if outcome.exit_code == ExitCode.EVIDENCE:
        lines += why_void(outcome.decision, outcome.checks)
    lines.append(f"report   {outcome.folder / layout.REPORT_HTML}")
    lines.append(f"run      {outcome.folder}")
    stream.write("\n")
    console.paragraphs(lines)


def agreed(plan: RunPlan) -> bool:
    """Whether the user at the terminal pays for the plan; without a terminal nobody does."""
    if not sys.stdin.isatty():
        return False
    sums = totals(plan.estimate)
    cost = "an unknown amount"
    if sums.usd is not None:
        cost = f"${sums.usd.low:.2f} to ${sums.usd.high:.2f}"
    sys.stderr.write(
        f"{plan.campaign}: about {left(sums.wall_s.low)} to {left(sums.wall_s.high)}, {cost}, "
        f"at most ${plan.budget_usd or 0:.2f}. Rent the machines? [y/N] "
    )
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _row(outcome: Outcome, ranked: Ranked) -> tuple[Cell, ...]:
    cell = _decision_cell(outcome, ranked)
    measures = {} if cell is None else cell.measures
    goodput = None if cell is None else cell.clauses.get("goodput")
    held = ranked.held_rate
    return (
        Cell(text=ranked.name),
        Cell(text=ranked.standing, meaning=_MEANINGS.get(ranked.standing, "none")),
        Cell(text=_number(None if held is None else held.highest_proven, "/s")),
        Cell(text=_value(None if goodput is None else goodput.number)),
        Cell(text=_value(measures.get("ttft_p95_ms"))),
        Cell(text=_value(measures.get("tpot_p95_ms"))),
        Cell(text=_value(ranked.usd_per_1m)),
        Cell(text=_evidence(cell)),
    )


def _without_rate(outcome: Outcome) -> Iterator[str]:
    """Why candidates whose rates were measured have no max rate."""
    for each in outcome.decision.ranking:
        if each.held_rate is not None and each.held_rate.highest_proven is None:
            why = why_none_proven(outcome.summary.candidate(each.name))
            yield f"{each.name} has no max rate: {why}"


def _decision_cell(outcome: Outcome, ranked: Ranked) -> CellSummary | None:
    found = outcome.summary.candidate(ranked.name)
    if found is None or ranked.decision_point is None:
        return None
    return found.cell(ranked.decision_point)


def _evidence(cell: CellSummary | None) -> str:
    if cell is None:
        return DASH
    launches = len(cell.replications)
    return f"{cell.verdict}, {launches} launch{'es' if launches != 1 else ''}"


def _value(number: Number | None) -> str:
    return DASH if number is None else _number(number.value, number.unit)


def _number(value: float | None, unit: str) -> str:
    return DASH if value is None else amount(value, unit)
