"""A run's plan on a terminal or a pipe: who, what, in which order, how long, how much."""

from __future__ import annotations

from collections.abc import Iterable

from catalog.quantity import Quantity
from flows.budget.steps import is_simulated
from flows.claims import claims, operating
from flows.console import Console
from flows.matrix import decides, duration_s, least_requests
from flows.run_plan.candidates import NOWHERE
from flows.run_plan_sums import sums, time_words
from flows.search import MOST_LEVELS
from reports.phrases import plain
from reports.run.plan_file import CandidateFacts, EstimateItem, LoadPoint, RunPlan
from reports.tables import Cell, Column, Meaning, Table

_MEANING: dict[str | None, Meaning] = {
    "pass": "pass",
    "reject": "fail",
    "unlikely": "warn",
    "unknown": "warn",
}
_SEARCH_ROWS = (
    tuple(
        Cell(text=text)
        for text in (
            "rates, searched",
            f"{MOST_LEVELS} levels at most, then both ends of the bracket",
            "as above",
            "the highest rate that holds",
        )
    ),
)


def show_run_plan(console: Console, plan: RunPlan) -> None:
    """The whole plan but the launches."""
    console.heading(f"{plan.campaign}: {plan.question}" if plan.question else plan.campaign)
    if plan.rehearsal:
        real = any(each.measured and not is_simulated(each) for each in plan.candidates)
        word = "some engines are" if real else "every engine is"
        console.paragraphs([f"REHEARSAL: {word} simulated, and nothing of it can be signed"])
    if plan.exploratory:
        console.paragraphs(["EXPLORATORY: the file asks for less than a decision needs"])
    console.table(_candidates(plan))
    console.table(_cells(plan))
    console.table(_order(plan))
    console.heading("What the planned runs can show")
    console.paragraphs(claims(plan))
    known = operating(plan)
    if known is not None:
        title, (head, *rows) = known
        cells = tuple(tuple(Cell(text=text) for text in row) for row in rows)
        console.table(Table(title=title, columns=_columns(head), rows=cells))
    console.table(_estimate(plan.estimate))
    console.paragraphs(sums(plan))


def _candidates(plan: RunPlan) -> Table:
    return Table(
        title="Candidates",
        columns=_columns(("candidate", "on paper", "host", "price", "measured")),
        rows=tuple(
            (
                Cell(text=each.name),
                Cell(text=each.verdict or "–", meaning=_MEANING.get(each.verdict, "")),
                Cell(text=each.host),
                Cell(text=_price(each)),
                Cell(
                    text="no" if each.skipped else "yes",
                    meaning="none" if each.skipped else "",
                    detail=each.skipped or _remark(each),
                ),
            )
            for each in plan.candidates
        ),
    )


def _cells(plan: RunPlan) -> Table:
    matrix = plan.matrix
    warm_up = f"{matrix.warmup}, {matrix.warmup_requests} at most"
    return Table(
        title=f"Load points, each in {matrix.replications} launches; seed {matrix.seed}",
        columns=_columns(("load point", "amount", "warm-up", "for")),
        rows=tuple(
            (
                Cell(text=point.name),
                Cell(text=_amount(plan, point)),
                Cell(
                    text=warm_up if matrix.warmup == "adaptive" else f"{matrix.warmup_requests}"
                ),
                Cell(text=_purpose(plan, point)),
            )
            for point in matrix.load_points
        )
        + (_SEARCH_ROWS if matrix.search_rates else ()),
    )


def _order(plan: RunPlan) -> Table:
    return Table(
        title="Order: launches of a host one after another, hosts at the same time",
        columns=(
            Column(title="launch", right=True),
            *_columns(("host", "candidate", "cells in order")),
        ),
        rows=tuple(
            (
                Cell(text=str(number)),
                Cell(text=visit.host),
                Cell(text=f"{visit.candidate}, replication {visit.replication}"),
                Cell(text=" ".join(visit.load_points)),
            )
            for number, visit in enumerate(plan.order, start=1)
        ),
    )


def _estimate(items: Iterable[EstimateItem]) -> Table:
    titles = ("time", "to", "USD", "to")
    return Table(
        title="ESTIMATE: machine time and money, low to high (assumptions)",
        columns=(*_columns(("host", "step")), *(Column(title=t, right=True) for t in titles)),
        rows=tuple(
            (
                Cell(text=each.host),
                Cell(text=each.what),
                Cell(text=time_words(each.low_s)),
                Cell(text=time_words(each.high_s)),
                Cell(text=_usd(each.low_usd)),
                Cell(text=_usd(each.high_usd)),
            )
            for each in items
        ),
    )


def _amount(plan: RunPlan, point: LoadPoint) -> str:
    least_s = duration_s(plan, point)
    if least_s is None:
        return f"{plan.matrix.requests} requests"
    return f"{time_words(least_s)}, {least_requests(plan, point):,} requests at least"


def _purpose(plan: RunPlan, point: LoadPoint) -> str:
    if point.name == plan.matrix.decision_point:
        return "the decision: the contract's own load"
    return "the decision: one of a family" if decides(plan, point) else "the curve"


def _remark(candidate: CandidateFacts) -> str:
    marks = [
        word
        for word, holds in (
            ("uncontrolled", candidate.grade == "uncontrolled"),
            ("needs quality proof", candidate.parity != "contract"),
            ("dummy weights", candidate.is_dummy),
            (NOWHERE, NOWHERE in candidate.threats),
        )
        if holds
    ]
    return ", ".join([*candidate.ranks, *marks])


def _price(candidate: CandidateFacts) -> str:
    price = candidate.price
    if price is None:
        return "unknown"
    stated = plain(Quantity(value=price.value, unit=price.unit, basis=price.basis))
    return f"{stated} (stale)" if price.stale else stated


def _columns(titles: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(title=title) for title in titles)


def _usd(usd: float | None) -> str:
    return "unknown" if usd is None else f"{usd:,.2f}"
