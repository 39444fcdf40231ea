"""Figure 2, cost: what a million output tokens cost against how fast they come."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from catalog.quantity import format_value, significant
from reports.decide.held import holds
from reports.figures.canvas import Drawing, Sheet, drawing, log_places, plain_ticks
from reports.figures.labels import Label, names_room, put_right
from reports.figures.marks import LIMIT
from reports.figures.palette import FAIL, PASS
from reports.figures.scatter import (
    Line,
    Point,
    cells_of,
    draw_path,
    heights,
    scattered,
    table_of,
)
from reports.figures.series import rests_on
from reports.report import Report
from reports.tables import Column, Table

NAME = "cost"
MISSING = "no measured cell has both a price and a time per output token"
_X, _Y = "tpot_p95_ms", "usd_per_1m_output"


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
    contract = report.plan.contract
    lines = scattered(report, _X, _Y, lambda cell: holds(cell, contract))
    if not lines:
        return None
    return Cost(
        lines=lines,
        limit_ms=contract.slo.itl_ms,
        ceiling=contract.cost_ceiling_usd_per_1m,
        unit=lines[-1].points[-1].y.unit,
        caption=f"{rests_on(cells_of(lines))} Machine hours only. Whiskers are 95% intervals.",
    )


def draw(data: Cost) -> Drawing:
    """The figure with its finding."""
    definition = (
        "Cost of 1M output tokens (log) against TPOT p95. Left and down is better; a ring "
        "marks points at which every clause of the contract holds."
    )
    sheet = Sheet(right=names_room(data.lines))
    return drawing(
        lambda figure: _draw(figure.subplots(), data),
        sheet,
        name=NAME,
        title="cost",
        finding=finding(data),
        definition=definition,
        caption=data.caption,
        table=_table(data),
    )


def finding(data: Cost) -> str:
    """The cheapest point that keeps the contract, or that none does."""
    every = [(line.name, point) for line in data.lines for point in line.points]
    good = [pair for pair in every if pair[1].is_marked]
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
        draw_path(axes, line)
        for point in line.points:
            axes.plot(*point.place, marker=line.look.marker, color=line.look.colour)
            if point.is_marked:
                axes.plot(
                    *point.place,
                    "o",
                    markersize=12,
                    markerfacecolor="none",
                    markeredgecolor=PASS,
                )
        x, y = line.points[-1].place
        ends.append(Label(text=line.name, x=x, y=y, colour=line.look.colour))
    axes.set_yscale("log")
    plain_ticks(axes, "y", log_places(*heights(data.lines)))
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
        axes.axvline(data.limit_ms, **LIMIT)
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
    currency = data.unit.partition("/")[0]
    return table_of(
        "Cost",
        data.lines,
        Column(title="TPOT p95", unit="ms", right=True),
        Column(title="Cost", unit=f"{currency} per 1M output", right=True),
        ("Contract", "holds", "not proven"),
    )
