"""Figure 1, frontier: what one user sees against what a device delivers, by load."""

from __future__ import annotations

from dataclasses import dataclass, replace

import matplotlib.ticker
from matplotlib.axes import Axes

from catalog.quantity import significant
from reports.contract_words import stated
from reports.figures.canvas import Drawing, Sheet, drawing, log_places, plain_ticks
from reports.figures.labels import Label, names_room, put_right
from reports.figures.marks import LIMIT
from reports.figures.palette import FAIL, PAPER
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

NAME = "frontier"
MISSING = "no cell shows both interactivity and output tokens per device"
_X, _Y = "interactivity_tok_per_s", "output_tok_per_s_per_device"


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """All lines, the interactivity that the contract asks for, and what it rests on."""

    lines: tuple[Line, ...]
    needed: float | None
    caption: str


def figure(report: Report) -> Drawing | str:
    """The figure, or why there is none."""
    data = frontier(report)
    return MISSING if data is None else draw(data)


def frontier(report: Report) -> Frontier | None:
    """The figure's data; None where no cell has both numbers."""
    lines = scattered(report, _X, _Y, lambda _: False)
    if not lines:
        return None
    places = [point.place for line in lines for point in line.points]
    itl = report.plan.contract.slo.itl_ms
    return Frontier(
        lines=tuple(_marked(line, places) for line in lines),
        needed=1000 / itl if itl else None,
        caption=f"{rests_on(cells_of(lines))} Crosses are 95% intervals over launches.",
    )


def draw(data: Frontier) -> Drawing:
    """The figure with its finding."""
    definition = (
        "Output tokens/s of a device (log2) against interactivity, 1/TPOT, median over "
        "launches; closed-loop levels (C) and rates (/s) are lines of their own. Up and right "
        "is better; filled marks are on the frontier, hollow ones are dominated."
    )
    sheet = Sheet(right=names_room(data.lines))
    return drawing(
        lambda figure: _draw(figure.subplots(), data),
        sheet,
        name=NAME,
        title="frontier",
        finding=finding(data),
        definition=definition,
        caption=data.caption,
        table=_table(data),
    )


def finding(data: Frontier) -> str:
    """Which candidate gives most at the contract's interactivity."""
    points = [(line.name, point) for line in data.lines for point in line.points]
    if data.needed is None:
        name, most = max(points, key=lambda pair: pair[1].y.value or 0.0)
        return f"{name} delivers most per device: {_tokens(most)} at {most.label}."
    fast = [pair for pair in points if (pair[1].x.value or 0.0) >= data.needed]
    wanted = f"{stated(data.needed)} tokens/s per user"
    if not fast:
        return f"No measured point reaches the {wanted} that the contract asks for."
    name, most = max(fast, key=lambda pair: pair[1].y.value or 0.0)
    return (
        f"Of the points with at least {wanted}, {name} at {most.label} delivers most per "
        f"device: {_tokens(most)}."
    )


def _tokens(point: Point) -> str:
    return f"{significant(point.y.value or 0.0)} output tokens/s"


def _marked(line: Line, places: list[tuple[float, float]]) -> Line:
    """The line with its points on the frontier marked."""
    points = (
        replace(point, is_marked=not _is_dominated(point.place, places))
        for point in line.points
    )
    return replace(line, points=tuple(points))


def _is_dominated(place: tuple[float, float], others: list[tuple[float, float]]) -> bool:
    return any(x >= place[0] and y >= place[1] and (x, y) != place for x, y in others)


def _draw(axes: Axes, data: Frontier) -> None:
    ends = []
    for line in data.lines:
        draw_path(axes, line)
        for point in line.points:
            axes.plot(
                *point.place,
                linestyle="none",
                marker=line.look.marker,
                color=line.look.colour,
                markerfacecolor=line.look.colour if point.is_marked else PAPER,
                markersize=7,
            )
        x, y = max((point.place for point in line.points), key=lambda place: place[1])
        ends.append(Label(text=line.name, x=x, y=y, colour=line.look.colour))
    axes.set_yscale("log", base=2)
    plain_ticks(axes, "y", _powers(*heights(data.lines)))
    axes.margins(x=0.08, y=0.12)
    axes.set_xlim(left=0)
    if data.needed is not None:
        axes.axvline(data.needed, **LIMIT)
        axes.text(
            data.needed,
            1.0,
            " contract",
            color=FAIL,
            transform=axes.get_xaxis_transform(),
            va="bottom",
        )
    axes.xaxis.set_major_locator(matplotlib.ticker.MaxNLocator(8))
    plain_ticks(axes, "x")
    axes.set_xlabel("interactivity, output tokens/s per user")
    axes.set_ylabel("output tokens/s per device")
    put_right(axes, ends)


def _powers(low: float, high: float) -> list[float]:
    places = [2.0**power for power in range(-6, 24) if low / 1.6 <= 2.0**power <= high * 1.6]
    return places if len(places) > 1 else log_places(low, high)


def _table(data: Frontier) -> Table:
    return table_of(
        "Frontier",
        data.lines,
        Column(title="Interactivity", unit="tokens/s per user", right=True),
        Column(title="Output", unit="tokens/s per device", right=True),
        ("Place", "frontier", "dominated"),
    )
