"""Figure 4, load curve: p95 of TTFT, TPOT and E2E as the load rises."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from catalog.quantity import significant
from reports.figures.canvas import Drawing, Sheet, drawing, log_places, plain_ticks
from reports.figures.labels import Label, names_room, put_right
from reports.figures.marks import LIMIT, dodged, level_axis, whisker
from reports.figures.palette import WARN, Look
from reports.figures.series import Loaded, along_loads, axis_name, level_words, rests_on
from reports.number_words import number_cell
from reports.report import Report
from reports.run.number import Number
from reports.tables import Cell, Column, Table

NAME = "load-curve"
MISSING = "no candidate has a latency at any load"
_PANELS = (("TTFT", "ttft_p95_ms"), ("TPOT", "tpot_p95_ms"), ("E2E", "e2e_p95_ms"))
_WIDTH, _HEIGHT = 11.0, 3.7
_WHISKER = 3.0  # a whisker that goes on beyond this factor is cut at the edge


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One cell: the three p95s in ms (None: not observed), and whether it was steady."""

    level: float
    numbers: tuple[Number | None, ...]
    steady: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A candidate over levels."""

    name: str
    look: Look
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadCurve:
    """All lines, the limits by panel, the axis and what they rest on."""

    lines: tuple[Line, ...]
    limits: tuple[float | None, ...]
    is_open: bool
    caption: str


def figure(report: Report) -> Drawing | str:
    """The figure, or why there is none."""
    data = load_curve(report)
    return MISSING if data is None else draw(data)


def load_curve(report: Report) -> LoadCurve | None:
    """The figure's data; None where there is no latency."""
    is_open, drawn, cells = along_loads(report, _point)
    if not drawn:
        return None
    slo = report.plan.contract.slo
    return LoadCurve(
        lines=tuple(
            Line(name=candidate.name, look=candidate.look, points=points)
            for candidate, points in drawn
        ),
        limits=(slo.ttft_ms, slo.itl_ms, None),
        is_open=is_open,
        caption=f"{rests_on(cells)} Whiskers are t-intervals over launches; one "
        "that leaves its panel goes on.",
    )


def _point(each: Loaded) -> Point | None:
    numbers = tuple(each.cell.measures.get(name) for _, name in _PANELS)
    if not each.level or not any(n is not None and n.value for n in numbers):
        return None
    return Point(level=each.level, numbers=numbers, steady=each.cell.verdict != "not-steady")


def draw(data: LoadCurve) -> Drawing:
    """The figure with its finding."""
    definition = (
        "p95 over requests, median of launches, in ms (log). Cells that were not steady have "
        "a × at the top. The dashed line is the contract's limit. Candidates at one load are "
        "drawn side by side."
    )
    sheet = Sheet(
        width=_WIDTH,
        height=_HEIGHT,
        left=0.6,
        right=names_room(data.lines),
        across=0.3,
    )
    return drawing(
        lambda figure: _draw(figure, data),
        sheet,
        name=NAME,
        title="load curve",
        finding=finding(data),
        definition=definition,
        caption=data.caption,
        table=_table(data),
        is_wide=True,
    )


def finding(data: LoadCurve) -> str:
    """How much the TTFT of the candidate that rises most rises over the levels."""
    rises = []
    for line in data.lines:
        seen = [(p.level, n.value) for p in line.points if (n := p.numbers[0]) and n.value]
        if len(seen) >= 2:
            rises.append((seen[-1][1] / seen[0][1], line.name, seen[0], seen[-1]))
    if not rises:
        return _one_load(data)
    factor, name, first, last = max(rises)
    start = f"{significant(first[1])} ms at {level_words(first[0], is_open=data.is_open)}"
    end = f"{significant(last[1])} ms at {level_words(last[0], is_open=data.is_open)}"
    times = significant(factor, 2)
    return f"TTFT p95 of {name} goes from {start} to {end}, {times} times as much."


def _one_load(data: LoadCurve) -> str:
    """The least and the greatest TTFT where no candidate has two loads."""
    seen = sorted(
        (n.value, line.name, p.level)
        for line in data.lines
        for p in line.points
        if (n := p.numbers[0]) is not None and n.value
    )
    if not seen:
        return "No TTFT p95 was observed."
    where = level_words(seen[0][2], is_open=data.is_open)
    ends = [f"{significant(value)} ms ({name})" for value, name, _ in (seen[0], seen[-1])]
    return f"One load was measured, {where}: TTFT p95 of {' to '.join(dict.fromkeys(ends))}."


def _draw(figure_: Figure, data: LoadCurve) -> None:
    panels = figure_.subplots(1, len(_PANELS))
    levels = sorted({point.level for line in data.lines for point in line.points})
    count = len(data.lines)
    for place, (axes, (title, _)) in enumerate(zip(panels, _PANELS, strict=True)):
        ends = [
            _line(
                axes, line, place, [dodged(p.level, turn, count, levels) for p in line.points]
            )
            for turn, line in enumerate(data.lines)
        ]
        axes.set_title(f"{title} p95, ms", loc="left")
        _scales(axes, data, place, levels)
        if place == len(_PANELS) - 1:
            put_right(axes, [end for end in ends if end is not None], line=0.065)
    figure_.supxlabel(axis_name(is_open=data.is_open), fontsize=10, y=0.02)


def _line(axes: Axes, line: Line, place: int, where: list[float]) -> Label | None:
    look = line.look
    seen = [
        (x, p, n)
        for x, p in zip(where, line.points, strict=True)
        if (n := p.numbers[place]) is not None and n.value
    ]
    if not seen:
        return None
    xs, ys = [x for x, _, _ in seen], [n.value or 0.0 for _, _, n in seen]
    axes.plot(xs, ys, color=look.colour, linestyle=look.dash, marker=look.marker, markersize=5)
    for x, point, number in seen:
        whisker(axes, number, x, look.colour)
        if not point.steady:
            axes.plot(
                x,
                0.985,
                "x",
                color=WARN,
                markersize=8,
                transform=axes.get_xaxis_transform(),
                clip_on=False,
            )
    return Label(text=line.name, x=xs[-1], y=ys[-1], colour=look.colour)


def _scales(axes: Axes, data: LoadCurve, place: int, levels: list[float]) -> None:
    limit = data.limits[place]
    ys = [
        n.value
        for line in data.lines
        for p in line.points
        if (n := p.numbers[place]) and n.value
    ]
    if limit is not None:
        axes.axhline(limit, **LIMIT)
        ys.append(limit)
    axes.set_yscale("log")
    axes.margins(x=0.1, y=0.12)
    level_axis(axes, levels)
    if ys:
        low, high = _reach(data, place, min(ys), max(ys))
        axes.set_ylim(low / 1.4, high * 1.4)
        plain_ticks(axes, "y", log_places(low, high))


def _reach(data: LoadCurve, place: int, low: float, high: float) -> tuple[float, float]:
    """The span of an axis with its whiskers, as far as they leave the points readable."""
    numbers = [n for line in data.lines for p in line.points if (n := p.numbers[place])]
    lows = [n.low for n in numbers if n.low]
    highs = [n.high for n in numbers if n.high]
    return (
        max(min([low, *lows]), low / _WHISKER),
        min(max([high, *highs]), high * _WHISKER),
    )


def _table(data: LoadCurve) -> Table:
    rows = tuple(
        (
            Cell(text=line.name),
            Cell(text=level_words(point.level, is_open=data.is_open)),
            *(number_cell(number) for number in point.numbers),
            Cell(
                text="steady" if point.steady else "not steady",
                meaning="" if point.steady else "warn",
            ),
        )
        for line in data.lines
        for point in line.points
    )
    columns = (
        Column(title="Candidate"),
        Column(title="Load"),
        *(Column(title=f"{title} p95", unit="ms", right=True) for title, _ in _PANELS),
        Column(title="Window"),
    )
    return Table(title="Load curve", columns=columns, rows=rows)
