"""Figure 3, SLO attainment: the share of scheduled requests that were good, by load."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from reports.figures.canvas import Drawing, Sheet, drawn, plain_ticks, room, themed
from reports.figures.labels import Label, put_right, short
from reports.figures.palette import FAIL, Look
from reports.figures.series import (
    axis_name,
    is_open_campaign,
    level_words,
    measured_candidates,
    rests_on,
)
from reports.number_words import number_cell
from reports.report import Report
from reports.run.number import Number
from reports.run.summary_file import ClauseVerdict
from reports.tables import Cell, Column, Table

NAME = "attainment"
MISSING = "goodput was judged at no load"
_FLOOR = 0.8


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One cell's goodput at a level of load, and what its clause says."""

    level: float
    share: Number
    verdict: ClauseVerdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A candidate over levels, with the highest rate proven and the first proven miss."""

    name: str
    look: Look
    points: tuple[Point, ...]
    proven: float | None
    missed: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attainment:
    """All lines, the target, the axis they share and what they rest on."""

    lines: tuple[Line, ...]
    target: float | None
    is_open: bool
    caption: str


def figure(report: Report) -> Drawing | str:
    """The figure, or why there is none."""
    data = attainment(report)
    return MISSING if data is None else draw(data)


def attainment(report: Report) -> Attainment | None:
    """The figure's data; None where no cell has a goodput."""
    found = measured_candidates(report)
    is_open = is_open_campaign(found)
    lines, cells = [], []
    for candidate in found:
        points = []
        for each in candidate.levels(is_open=is_open):
            clause = each.cell.clauses.get("goodput")
            if clause is None or clause.number.value is None or each.level is None:
                continue
            points.append(Point(level=each.level, share=clause.number, verdict=clause.verdict))
            cells.append(each.cell)
        if points:
            held = [p.level for p in points if p.verdict == "holds"]
            lost = [p.level for p in points if p.verdict == "misses"]
            lines.append(
                Line(
                    name=candidate.name,
                    look=candidate.look,
                    points=tuple(points),
                    proven=max(held, default=None),
                    missed=min(lost, default=None),
                )
            )
    if not lines:
        return None
    return Attainment(
        lines=tuple(lines),
        target=report.plan.contract.slo.goodput,
        is_open=is_open,
        caption=f"{rests_on(cells)} Ticks below a point are one-sided 95% lower limits.",
    )


def draw(data: Attainment) -> Drawing:
    """The figure with its finding."""
    said = finding(data)
    definition = (
        "Compliant requests / requests scheduled in the measured window, with the lower limit "
        "of each. ▲ the highest level proven, ▽ the first proven miss. Shares below 80% are "
        "drawn at the bottom edge."
    )
    sheet = Sheet(height=3.4, right=room(short(line.name) for line in data.lines))
    svg = drawn(lambda figure: _draw(figure.subplots(), data), sheet)
    return Drawing(
        name=NAME,
        title="SLO attainment",
        finding=said,
        definition=definition,
        caption=data.caption,
        table=_table(data),
        svg=themed(svg, sheet, name=NAME, title=said, description=definition),
    )


def finding(data: Attainment) -> str:
    """How far each candidate is proven to keep its target."""
    words = [
        f"{line.name} up to {level_words(line.proven, is_open=data.is_open)}"
        for line in data.lines
        if line.proven is not None
    ]
    target = "its share" if data.target is None else f"{data.target * 100:g}%"
    if words:
        return f"Proven to keep {target} of requests good: {', '.join(words)}."
    return f"No candidate is proven to keep {target} of requests good at any measured load."


def _draw(axes: Axes, data: Attainment) -> None:
    ends = []
    for line in data.lines:
        look = line.look
        xs = [point.level for point in line.points]
        ys = [max(point.share.value or 0.0, _FLOOR) for point in line.points]
        axes.plot(
            xs,
            ys,
            color=look.colour,
            linestyle=look.dash,
            marker=look.marker,
            clip_on=False,
            zorder=3,
        )
        for point, x, y in zip(line.points, xs, ys, strict=True):
            if point.share.low is not None:
                low = max(point.share.low, _FLOOR)
                axes.plot([x, x], [low, y], color=look.colour, linewidth=1)
                axes.plot(x, low, "_", color=look.colour, markersize=9)
        if line.proven is not None:
            axes.plot(
                line.proven, _FLOOR + 0.008, "^", color=look.colour, markersize=9, clip_on=False
            )
        if line.missed is not None:
            axes.plot(
                line.missed,
                _FLOOR + 0.008,
                "v",
                color=look.colour,
                markerfacecolor="none",
                markersize=9,
                clip_on=False,
            )
        ends.append(Label(text=line.name, x=xs[-1], y=ys[-1], colour=look.colour))
    if data.target is not None:
        axes.axhline(data.target, color=FAIL, linestyle=(0, (4, 2)), linewidth=1.3)
        axes.text(
            0.005,
            data.target - 0.004,
            f"target {data.target * 100:g}%",
            color=FAIL,
            va="top",
            transform=axes.get_yaxis_transform(),
        )
    axes.set_ylim(_FLOOR, 1.005)
    axes.margins(x=0.05)
    axes.set_yticks([0.8, 0.85, 0.9, 0.95, 1.0], ["80%", "85%", "90%", "95%", "100%"])
    plain_ticks(axes, "x", sorted({p.level for line in data.lines for p in line.points})[:14])
    axes.set_xlabel(axis_name(is_open=data.is_open))
    axes.set_ylabel("good / scheduled")
    put_right(axes, ends)


def _table(data: Attainment) -> Table:
    rows = tuple(
        (
            Cell(text=line.name),
            Cell(text=level_words(point.level, is_open=data.is_open)),
            number_cell(point.share),
            Cell(text=point.verdict),
        )
        for line in data.lines
        for point in line.points
    )
    columns = (
        Column(title="Candidate"),
        Column(title="Load"),
        Column(title="Goodput", unit="%", right=True),
        Column(title="Clause"),
    )
    return Table(title="SLO attainment", columns=columns, rows=rows)
