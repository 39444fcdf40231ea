"""Figure 1, frontier: what one user sees against what a device delivers, by load."""

from __future__ import annotations

from dataclasses import dataclass

import matplotlib.ticker
from matplotlib.axes import Axes

from catalog.quantity import significant
from reports.contract_words import stated
from reports.figures.canvas import Drawing, Sheet, drawn, log_places, plain_ticks, room, themed
from reports.figures.labels import Label, put_beside, put_right, short
from reports.figures.palette import FAIL, PAPER, Look
from reports.figures.series import measured_candidates, rests_on
from reports.number_words import number_cell
from reports.report import Report
from reports.run.number import Number
from reports.tables import Cell, Column, Table

NAME = "frontier"
MISSING = "no cell shows both interactivity and output tokens per device"
_X, _Y = "interactivity_tok_per_s", "output_tok_per_s_per_device"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One cell: output tokens/s a user sees, and a device delivers; on the frontier or not."""

    label: str
    is_open: bool
    x: Number
    y: Number
    is_frontier: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A candidate through its load points."""

    name: str
    look: Look
    points: tuple[Point, ...]


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
    found, cells = [], []
    for candidate in measured_candidates(report):
        ordered = (*candidate.levels(is_open=False), *candidate.levels(is_open=True))
        for each in ordered:
            x, y = each.cell.measures.get(_X), each.cell.measures.get(_Y)
            if x is not None and y is not None and x.value and y.value:
                found.append((candidate, each, x, y))
                cells.append(each.cell)
    if not found:
        return None
    places = [(x.value or 0.0, y.value or 0.0) for _, _, x, y in found]
    lines: dict[str, list[Point]] = {}
    looks = {candidate.name: candidate.look for candidate, *_ in found}
    for (candidate, each, x, y), place in zip(found, places, strict=True):
        point = Point(
            label=each.label,
            is_open=each.is_open,
            x=x,
            y=y,
            is_frontier=not _is_dominated(place, places),
        )
        lines.setdefault(candidate.name, []).append(point)
    itl = report.plan.contract.slo.itl_ms
    return Frontier(
        lines=tuple(
            Line(name=name, look=looks[name], points=tuple(points))
            for name, points in lines.items()
        ),
        needed=1000 / itl if itl else None,
        caption=f"{rests_on(cells)} Crosses are 95% intervals over launches.",
    )


def draw(data: Frontier) -> Drawing:
    """The figure with its finding."""
    said = finding(data)
    definition = (
        "Output tokens/s of a device (log2) against interactivity, 1/TPOT, median over "
        "launches; closed-loop levels (C) and rates (/s) are lines of their own. Up and right "
        "is better; filled marks are on the frontier, hollow ones are dominated."
    )
    sheet = Sheet(right=room(short(line.name) for line in data.lines))
    svg = drawn(lambda figure: _draw(figure.subplots(), data), sheet)
    return Drawing(
        name=NAME,
        title="frontier",
        finding=said,
        definition=definition,
        caption=data.caption,
        table=_table(data),
        svg=themed(svg, sheet, name=NAME, title=said, description=definition),
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


def _is_dominated(place: tuple[float, float], others: list[tuple[float, float]]) -> bool:
    return any(x >= place[0] and y >= place[1] and (x, y) != place for x, y in others)


def _draw(axes: Axes, data: Frontier) -> None:
    ends = []
    for line in data.lines:
        xs = [point.x.value or 0.0 for point in line.points]
        ys = [point.y.value or 0.0 for point in line.points]
        look = line.look
        for kind in (False, True):
            some = [place for place, p in enumerate(line.points) if p.is_open is kind]
            axes.plot(
                [xs[place] for place in some],
                [ys[place] for place in some],
                color=look.colour,
                linestyle=look.dash,
            )
        for point, x, y in zip(line.points, xs, ys, strict=True):
            _cross(axes, point, look.colour)
            axes.plot(
                x,
                y,
                linestyle="none",
                marker=look.marker,
                color=look.colour,
                markerfacecolor=look.colour if point.is_frontier else PAPER,
                markersize=7,
            )
            put_beside(axes, point.label, x, y, look.colour)
        highest = max(range(len(ys)), key=ys.__getitem__)
        ends.append(Label(text=line.name, x=xs[-1], y=ys[highest], colour=look.colour))
    axes.set_yscale("log", base=2)
    heights = [point.y.value or 0.0 for line in data.lines for point in line.points]
    plain_ticks(axes, "y", _powers(min(heights), max(heights)))
    axes.margins(x=0.08, y=0.12)
    axes.set_xlim(left=0)
    if data.needed is not None:
        axes.axvline(data.needed, color=FAIL, linestyle=(0, (4, 2)), linewidth=1.3)
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


def _cross(axes: Axes, point: Point, colour: str) -> None:
    for number, other, horizontal in ((point.x, point.y, True), (point.y, point.x, False)):
        if number.low is None or number.high is None:
            continue
        ends, across = [number.low, number.high], [other.value] * 2
        axes.plot(
            *((ends, across) if horizontal else (across, ends)), color=colour, linewidth=1
        )


def _powers(low: float, high: float) -> list[float]:
    places = [2.0**power for power in range(-6, 24) if low / 1.6 <= 2.0**power <= high * 1.6]
    return places if len(places) > 1 else log_places(low, high)


def _table(data: Frontier) -> Table:
    rows = tuple(
        (
            Cell(text=line.name),
            Cell(text=point.label),
            number_cell(point.x),
            number_cell(point.y),
            Cell(text="frontier" if point.is_frontier else "dominated"),
        )
        for line in data.lines
        for point in line.points
    )
    columns = (
        Column(title="Candidate"),
        Column(title="Load"),
        Column(title="Interactivity", unit="tokens/s per user", right=True),
        Column(title="Output", unit="tokens/s per device", right=True),
        Column(title="Place"),
    )
    return Table(title="Frontier", columns=columns, rows=rows)
