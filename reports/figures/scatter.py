"""One measure against another over the cells of each candidate, with both intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from matplotlib.axes import Axes

from reports.figures.labels import put_beside
from reports.figures.marks import whisker
from reports.figures.palette import Look
from reports.figures.series import Loaded, measured_candidates
from reports.number_words import stacked_cell
from reports.report import Report
from reports.run.number import Number
from reports.run.summary_file import CellSummary
from reports.tables import Cell, Column, Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One cell: both measures, and whether the figure sets it off from the others."""

    label: str
    is_open: bool
    x: Number
    y: Number
    cell: CellSummary
    is_marked: bool

    @property
    def place(self) -> tuple[float, float]:
        """Where it is drawn."""
        return self.x.value or 0.0, self.y.value or 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A candidate through its load points: streams by rising level, then rates."""

    name: str
    look: Look
    points: tuple[Point, ...]


def scattered(
    report: Report, x: str, y: str, marked: Callable[[CellSummary], bool]
) -> tuple[Line, ...]:
    """Every candidate with a cell that has both measures."""
    lines = (
        Line(
            name=candidate.name,
            look=candidate.look,
            points=tuple(
                point
                for is_open in (False, True)
                for each in candidate.levels(is_open=is_open)
                if (point := _point(each, x, y, marked)) is not None
            ),
        )
        for candidate in measured_candidates(report)
    )
    return tuple(line for line in lines if line.points)


def cells_of(lines: tuple[Line, ...]) -> list[CellSummary]:
    """The cells that are drawn."""
    return [point.cell for line in lines for point in line.points]


def heights(lines: tuple[Line, ...]) -> tuple[float, float]:
    """The lowest and the highest y."""
    found = [point.place[1] for line in lines for point in line.points]
    return min(found), max(found)


def table_of(
    title: str, lines: tuple[Line, ...], x: Column, y: Column, mark: tuple[str, str, str]
) -> Table:
    """Every point with both measures; ``mark``: a heading, what a set off point is, or not.

    A point that is set off passes where it is ``holds``.
    """
    heading, yes, no = mark
    told = {
        True: Cell(text=yes, meaning="pass" if yes == "holds" else ""),
        False: Cell(text=no),
    }
    return Table(
        title=title,
        columns=(Column(title="Candidate"), Column(title="Load"), x, y, Column(title=heading)),
        rows=tuple(
            (
                Cell(text=line.name),
                Cell(text=point.label),
                stacked_cell(point.x),
                stacked_cell(point.y),
                told[point.is_marked],
            )
            for line in lines
            for point in line.points
        ),
    )


def draw_path(axes: Axes, line: Line) -> None:
    """The candidate's path, streams and rates each for themselves, with load and whiskers."""
    look = line.look
    for is_open in (False, True):
        places = [point.place for point in line.points if point.is_open is is_open]
        axes.plot(
            [x for x, _ in places],
            [y for _, y in places],
            color=look.colour,
            linestyle=look.dash,
        )
    for point in line.points:
        x, y = point.place
        whisker(axes, point.x, y, look.colour, is_level=True)
        whisker(axes, point.y, x, look.colour)
        put_beside(axes, point.label, x, y, look.colour)


def _point(each: Loaded, x: str, y: str, marked: Callable[[CellSummary], bool]) -> Point | None:
    one, other = each.cell.measures.get(x), each.cell.measures.get(y)
    if one is None or other is None or not one.value or not other.value:
        return None
    return Point(
        label=each.label,
        is_open=each.is_open,
        x=one,
        y=other,
        cell=each.cell,
        is_marked=marked(each.cell),
    )
