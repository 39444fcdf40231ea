"""Figure 2, cost: what a million output tokens cost against how fast they come."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from catalog.quantity import format_value, significant
from reports.figures.canvas import Drawing, Sheet, drawn, log_places, plain_ticks, room, themed
from reports.figures.labels import Label, put_beside, put_right, short
from reports.figures.palette import FAIL, PASS, Look
from reports.figures.series import measured_candidates, rests_on
from reports.number_words import number_cell
from reports.report import Report
from reports.run.number import Number
from reports.tables import Cell, Column, Table

NAME = "cost"
MISSING = "no measured cell has both a price and a time per output token"
_X, _Y = "tpot_p95_ms", "usd_per_1m_output"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One cell: TPOT p95 in ms, cost of 1M output tokens, whether every clause holds there."""

    label: str
    is_open: bool
    x: Number
    y: Number
    holds: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A candidate through its load points."""

    name: str
    look: Look
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """All lines, the contract's limit and ceiling, and what they rest on."""

    lines: tuple[Line, ...]
    limit_ms: float | None
    ceiling: float | None
    unit: str
    caption: str


def figure(report: Report) -> Drawing | str:
    """The figure, or why there is none."""
    data = cost(report)
    return MISSING if data is None else draw(data)


def cost(report: Report) -> Cost | None:
    """The figure's data; None where no cell has both numbers."""
    lines, cells, unit = [], [], "USD/Mtok"
    for candidate in measured_candidates(report):
        points = []
        for each in (*candidate.levels(is_open=False), *candidate.levels(is_open=True)):
            x, y = each.cell.measures.get(_X), each.cell.measures.get(_Y)
            if x is None or y is None or not x.value or not y.value:
                continue
            clauses = [c for c in each.cell.clauses.values() if c.verdict != "no such clause"]
            holds = bool(clauses) and all(c.verdict == "holds" for c in clauses)
            points.append(Point(label=each.label, is_open=each.is_open, x=x, y=y, holds=holds))
            cells.append(each.cell)
            unit = y.unit
        if points:
            lines.append(Line(name=candidate.name, look=candidate.look, points=tuple(points)))
    if not lines:
        return None
    contract = report.plan.contract
    return Cost(
        lines=tuple(lines),
        limit_ms=contract.slo.itl_ms,
        ceiling=contract.cost_ceiling_usd_per_1m,
        unit=unit,
        caption=f"{rests_on(cells)} Machine hours only. Whiskers are 95% intervals.",
    )


def draw(data: Cost) -> Drawing:
    """The figure with its finding."""
    said = finding(data)
    definition = (
        "Cost of 1M output tokens (log) against TPOT p95. Left and down is better; a ring "
        "marks points at which every clause of the contract holds."
    )
    sheet = Sheet(right=room(short(line.name) for line in data.lines))
    svg = drawn(lambda figure: _draw(figure.subplots(), data), sheet)
    return Drawing(
        name=NAME,
        title="cost",
        finding=said,
        definition=definition,
        caption=data.caption,
        table=_table(data),
        svg=themed(svg, sheet, name=NAME, title=said, description=definition),
    )


def finding(data: Cost) -> str:
    """The cheapest point that keeps the contract, or that none does."""
    every = [(line.name, point) for line in data.lines for point in line.points]
    good = [pair for pair in every if pair[1].holds]
    if not good:
        name, point = min(every, key=lambda pair: pair[1].y.value or 0.0)
        return f"No point keeps every clause; the cheapest of all is {_point(name, point)}."
    name, point = min(good, key=lambda pair: pair[1].y.value or 0.0)
    return f"The cheapest point that keeps every clause is {_point(name, point)}."


def _point(name: str, point: Point) -> str:
    money = format_value(point.y.value or 0.0, point.y.unit.partition("/")[0])
    tpot = significant(point.x.value or 0.0)
    return f"{name} at {point.label}: {money} per 1M output tokens, TPOT p95 {tpot} ms"


def _draw(axes: Axes, data: Cost) -> None:
    ends = []
    for line in data.lines:
        look = line.look
        xs = [point.x.value or 0.0 for point in line.points]
        ys = [point.y.value or 0.0 for point in line.points]
        for kind in (False, True):
            some = [place for place, p in enumerate(line.points) if p.is_open is kind]
            axes.plot(
                [xs[place] for place in some],
                [ys[place] for place in some],
                color=look.colour,
                linestyle=look.dash,
                marker=look.marker,
            )
        for point, x, y in zip(line.points, xs, ys, strict=True):
            if point.x.low is not None and point.x.high is not None:
                axes.plot([point.x.low, point.x.high], [y, y], color=look.colour, linewidth=1)
            if point.y.low is not None and point.y.high is not None:
                axes.plot([x, x], [point.y.low, point.y.high], color=look.colour, linewidth=1)
            if point.holds:
                axes.plot(
                    x, y, "o", markersize=12, markerfacecolor="none", markeredgecolor=PASS
                )
            put_beside(axes, point.label, x, y, look.colour)
        ends.append(Label(text=line.name, x=xs[-1], y=ys[-1], colour=look.colour))
    axes.set_yscale("log")
    heights = [point.y.value or 0.0 for line in data.lines for point in line.points]
    plain_ticks(axes, "y", log_places(min(heights), max(heights)))
    axes.margins(x=0.08, y=0.12)
    axes.set_xlim(left=0)
    plain_ticks(axes, "x")
    _limits(axes, data)
    axes.set_xlabel("TPOT p95, ms")
    axes.set_ylabel(f"{data.unit.partition('/')[0]} per 1M output tokens")
    put_right(axes, ends)


def _limits(axes: Axes, data: Cost) -> None:
    if data.limit_ms is not None:
        top = max(axes.get_xlim()[1], data.limit_ms * 1.08)
        axes.set_xlim(0, top)
        axes.axvspan(0, data.limit_ms, color=PASS, alpha=0.07, linewidth=0)
        axes.axvline(data.limit_ms, color=FAIL, linestyle=(0, (4, 2)), linewidth=1.3)
        axes.text(
            data.limit_ms,
            1.0,
            f"limit {data.limit_ms:g} ms",
            color=FAIL,
            ha="center",
            va="bottom",
            transform=axes.get_xaxis_transform(),
        )
    if data.ceiling is not None:
        axes.axhline(data.ceiling, color=FAIL, linestyle=(0, (1, 2)), linewidth=1.3)
        axes.text(
            0.01, data.ceiling, "ceiling", color=FAIL, transform=axes.get_yaxis_transform()
        )


def _table(data: Cost) -> Table:
    rows = tuple(
        (
            Cell(text=line.name),
            Cell(text=point.label),
            number_cell(point.x),
            number_cell(point.y),
            Cell(
                text="every clause holds" if point.holds else "not every clause holds",
                meaning="pass" if point.holds else "",
            ),
        )
        for line in data.lines
        for point in line.points
    )
    columns = (
        Column(title="Candidate"),
        Column(title="Load"),
        Column(title="TPOT p95", unit="ms", right=True),
        Column(title="Cost", unit=f"{data.unit.partition('/')[0]} per 1M output", right=True),
        Column(title="Contract"),
    )
    return Table(title="Cost", columns=columns, rows=rows)
