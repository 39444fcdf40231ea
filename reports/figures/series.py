"""Points of candidates over their load points, as the figures take them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeVar

from reports.contract_words import stated
from reports.figures.palette import Look, look
from reports.report import Report
from reports.run.number import Number
from reports.run.plan_file import LoadPoint
from reports.run.summary_file import CellSummary

PointT = TypeVar("PointT")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """One cell of a candidate with the load it was measured at (None: of a search)."""

    cell: CellSummary
    point: LoadPoint | None

    @property
    def label(self) -> str:
        """The load in a few characters: ``C=4``, ``8/s``."""
        if self.point is None:
            return self.cell.load_point
        if not self.point.is_open:
            return f"C={self.point.concurrency}"
        rate = self.point.rate_per_s
        return self.point.name if rate is None else f"{stated(rate)}/s"

    @property
    def is_open(self) -> bool:
        """Whether requests came by a rate."""
        return (
            self.point is not None and self.point.is_open and self.point.rate_per_s is not None
        )

    @property
    def level(self) -> float | None:
        """The rate of an open point, the streams of a closed one."""
        if self.point is None:
            return None
        level = self.point.rate_per_s if self.is_open else self.point.concurrency
        return None if level is None else float(level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A candidate's cells, open ones by rate and closed ones by streams."""

    name: str
    look: Look
    cells: tuple[Loaded, ...]

    def levels(self, *, is_open: bool) -> tuple[Loaded, ...]:
        """Its cells under one kind of load, by rising level."""
        found = [c for c in self.cells if c.is_open is is_open and c.level is not None]
        return tuple(sorted(found, key=lambda each: each.level or 0.0))


def measured_candidates(report: Report) -> tuple[Measured, ...]:
    """Every measured candidate in the plan's order, which fixes its look."""
    return tuple(_candidates(report))


def along_loads(
    report: Report, point_of: Callable[[Loaded], PointT | None]
) -> tuple[bool, tuple[tuple[Measured, tuple[PointT, ...]], ...], list[CellSummary]]:
    """The points of a curve over load: whether over rates, by candidate, and their cells.

    ``point_of`` makes a point of a cell, or None where it has nothing to show; candidates
    without a point are left out.
    """
    found = measured_candidates(report)
    is_open = is_open_campaign(report, found)
    drawn: list[tuple[Measured, tuple[PointT, ...]]] = []
    cells: list[CellSummary] = []
    for candidate in found:
        pairs = [(e, point_of(e)) for e in candidate.levels(is_open=is_open)]
        points = tuple(point for _, point in pairs if point is not None)
        cells += [each.cell for each, point in pairs if point is not None]
        if points:
            drawn.append((candidate, points))
    return is_open, tuple(drawn), cells


def is_open_campaign(report: Report, found: tuple[Measured, ...]) -> bool:
    """Whether a curve over rates says more than one over streams: a candidate has two.

    Where there is one of each, the load that decides is drawn.
    """
    rates = max((len(each.levels(is_open=True)) for each in found), default=0)
    streams = max((len(each.levels(is_open=False)) for each in found), default=0)
    if rates == streams == 1:
        points = report.plan.matrix.load_points
        return any(p.is_open for p in points if p.name == report.plan.matrix.decision_point)
    return rates >= 2 or (rates == 1 and streams == 0)


def level_words(level: float, *, is_open: bool) -> str:
    """A level in a sentence: ``8 requests/s``, ``4 streams``."""
    if is_open:
        return f"{stated(level)} request{'s' if level != 1 else ''}/s"
    return f"{level:g} stream{'s' if level != 1 else ''}"


def axis_name(*, is_open: bool) -> str:
    """The x axis of a curve over load."""
    return "offered rate, requests/s" if is_open else "streams in flight (closed loop)"


def value(number: Number | None) -> float | None:
    """The value of a number, None where it has none."""
    return number.value if number is not None else None


def rests_on(cells: list[CellSummary]) -> str:
    """``n = 600 requests in R = 3 launches per point``: least and most over the cells."""
    if not cells:
        return ""
    requests = sorted(cell.requests.get("measured", 0) for cell in cells)
    runs = sorted(len(cell.replications) for cell in cells)
    basis = ", ".join(dict.fromkeys(cell.basis.value for cell in cells))
    many = f"n = {_range(requests)} requests in R = {run_words(runs)}"
    return f"{many} per point; {basis}."


def run_words(runs: list[int]) -> str:
    """``5 launches``, ``1 launch``, ``3 to 5 launches``: least and most."""
    return f"{_range(runs)} launch{'es' if runs[-1] != 1 else ''}"


def _candidates(report: Report) -> Iterator[Measured]:
    for place, facts in enumerate(report.plan.candidates):
        measured = report.measured(facts.name)
        if measured is None or not measured.cells:
            continue
        yield Measured(
            name=facts.name,
            look=look(place),
            cells=tuple(
                Loaded(cell=cell, point=_point(report, facts.name, cell.load_point))
                for cell in measured.cells
            ),
        )


def _point(report: Report, candidate: str, name: str) -> LoadPoint | None:
    search = report.searches.get(candidate)
    points = (*report.plan.matrix.load_points, *(search.proof if search is not None else ()))
    return next((each for each in points if each.name == name), None)


def _range(values: list[int]) -> str:
    low, high = values[0], values[-1]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"
