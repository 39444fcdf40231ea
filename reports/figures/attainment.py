"""Figure 3, SLO attainment: the share of scheduled requests that were good, by load."""

from __future__ import annotations

from dataclasses import dataclass

from matplotlib.axes import Axes

from reports.figures.canvas import Drawing, Sheet, drawing
from reports.figures.labels import Label, names_room, put_right
from reports.figures.marks import LIMIT, dodged, level_axis
from reports.figures.palette import FAIL, Look
from reports.figures.series import (
    Loaded,
    Measured,
    along_loads,
    axis_name,
    level_words,
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

    @property
    def floor(self) -> float:
        """Where the axis begins: at 0 where no share is above 80%."""
        shares = [point.share.value or 0.0 for line in self.lines for point in line.points]
        return _FLOOR if max(shares) > _FLOOR else 0.0

    @property
    def has_cut(self) -> bool:
        """Whether a share lies below the axis."""
        return any(
            (point.share.value or 0.0) < self.floor
            for line in self.lines
            for point in line.points
        )


def figure(report: Report) -> Drawing | str:
    """The figure, or why there is none."""
    data = attainment(report)
    return MISSING if data is None else draw(data)


def attainment(report: Report) -> Attainment | None:
    """The figure's data; None where no cell has a goodput."""
    is_open, drawn, cells = along_loads(report, _point)
    if not drawn:
        return None
    return Attainment(
        lines=tuple(_line_of(candidate, points) for candidate, points in drawn),
        target=report.plan.contract.slo.goodput,
        is_open=is_open,
        caption=f"{rests_on(cells)} Ticks below a point are one-sided 95% lower limits.",
    )


def _point(each: Loaded) -> Point | None:
    clause = each.cell.clauses.get("goodput")
    if clause is None or clause.number.value is None or each.level is None:
        return None
    return Point(level=each.level, share=clause.number, verdict=clause.verdict)


def _line_of(candidate: Measured, points: tuple[Point, ...]) -> Line:
    held = [point.level for point in points if point.verdict == "holds"]
    lost = [point.level for point in points if point.verdict == "misses"]
    return Line(
        name=candidate.name,
        look=candidate.look,
        points=points,
        proven=max(held, default=None),
        missed=min(lost, default=None),
    )


def draw(data: Attainment) -> Drawing:
    """The figure with its finding."""
    definition = (
        "Compliant requests / requests scheduled in the measured window, with the lower limit "
        "of each. ▲ the highest level proven, ▽ the first proven miss. Candidates at one load "
        "are drawn side by side."
    )
    if data.has_cut:
        definition += " Shares below 80% are drawn at the bottom edge."
    sheet = Sheet(height=3.4, right=names_room(data.lines))
    return drawing(
        lambda figure: _draw(figure.subplots(), data),
        sheet,
        name=NAME,
        title="SLO attainment",
        finding=finding(data),
        definition=definition,
        caption=data.caption,
        table=_table(data),
    )


def finding(data: Attainment) -> str:
    """How far each candidate is proven to keep its target."""
    target = "its share" if data.target is None else f"{data.target * 100:g}%"
    held: dict[float, list[str]] = {}
    for line in data.lines:
        if line.proven is not None:
            held.setdefault(line.proven, []).append(line.name)
    words = [
        f"{', '.join(names)} up to {level_words(level, is_open=data.is_open)}"
        for level, names in sorted(held.items(), reverse=True)
    ]
    if words:
        return f"Proven to keep {target} of requests good: {'; '.join(words)}."
    return f"No candidate is proven to keep {target} of requests good at any measured load."


def _draw(axes: Axes, data: Attainment) -> None:
    levels = sorted({point.level for line in data.lines for point in line.points})
    axes.set_ylim(data.floor, 1.0 + 0.025 * (1 - data.floor))
    axes.margins(x=0.08)
    level_axis(axes, levels)
    ends = [
        _line(
            axes,
            line,
            data.floor,
            [dodged(p.level, place, len(data.lines), levels) for p in line.points],
        )
        for place, line in enumerate(data.lines)
    ]
    if data.target is not None:
        _target(axes, data.target)
    steps = (0.8, 0.85, 0.9, 0.95, 1.0) if data.floor else (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)
    axes.set_yticks(steps, [f"{step * 100:.0f}%" for step in steps])
    axes.set_xlabel(axis_name(is_open=data.is_open))
    axes.set_ylabel("good / scheduled")
    put_right(axes, ends)


def _line(axes: Axes, line: Line, floor: float, xs: list[float]) -> Label:
    look = line.look
    ys = [max(point.share.value or 0.0, floor) for point in line.points]
    axes.plot(
        xs,
        ys,
        color=look.colour,
        linestyle=look.dash,
        marker=look.marker,
        clip_on=False,
        zorder=3,
    )
    foot = floor + 0.04 * (1 - floor)
    for point, x, y in zip(line.points, xs, ys, strict=True):
        if point.share.low is not None:
            low = max(point.share.low, floor)
            axes.plot([x, x], [low, y], color=look.colour, linewidth=1)
            axes.plot(x, low, "_", color=look.colour, markersize=9)
        if point.level == line.proven:
            axes.plot(x, foot, "^", color=look.colour, markersize=9, clip_on=False)
        if point.level == line.missed:
            axes.plot(
                x,
                foot,
                "v",
                color=look.colour,
                markerfacecolor="none",
                markersize=9,
                clip_on=False,
            )
    return Label(text=line.name, x=xs[-1], y=ys[-1], colour=look.colour)


def _target(axes: Axes, target: float) -> None:
    axes.axhline(target, **LIMIT)
    axes.annotate(
        f"target {target * 100:g}%",
        (0.005, target),
        xycoords=axes.get_yaxis_transform(),
        xytext=(0, -4),
        textcoords="offset points",
        color=FAIL,
        va="top",
    )


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
