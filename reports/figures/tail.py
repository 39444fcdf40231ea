"""Figure 5, tail: how slow the slowest requests are, up to where there is still evidence."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, log
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from catalog.quantity import significant
from reports.columns import Flags, Reals
from reports.figures.canvas import Drawing, Sheet, drawing, log_places, plain_ticks
from reports.figures.labels import Label, names_room, put_right
from reports.figures.palette import FAIL, Look, look
from reports.figures.series import run_words
from reports.number_words import DASH
from reports.report import Report
from reports.tables import Cell, Column, Table

NAME = "tail"
MISSING = "no records of a decision cell are in the run"
LEVEL: Final = 0.95
_SHOWN: Final = (50.0, 90.0, 95.0, 99.0, 99.9)
_GRID: Final = tuple(100 * (1 - 1 / odds) for odds in np.geomspace(2, 1000, 46))
_NEAR: Final = 2.0  # a limit further above the slowest request than this is not drawn
_APART: Final = 1.01  # service below experienced by more than this is drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One candidate: TTFT in ms at the percents of the grid, by launch, until evidence ends.

    ``median`` is over launches, ``service`` the same counted from the time sent.
    """

    name: str
    look: Look
    runs: tuple[tuple[float, ...], ...]
    median: tuple[float, ...]
    service: tuple[float, ...]
    shown: tuple[float | None, ...]
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tail:
    """All lines, the limit with its percentile, and what they rest on."""

    lines: tuple[Line, ...]
    limit_ms: float | None
    percentile: float
    caption: str


def figure(report: Report) -> Drawing | str:
    """The figure, or why there is none."""
    data = tail(report)
    return MISSING if data is None else draw(data)


def tail(report: Report) -> Tail | None:
    """The figure's data; None where no decision cell has records."""
    lines = []
    for place, facts in enumerate(report.plan.candidates):
        thin = [each for (name, _), each in sorted(report.thin.items()) if name == facts.name]
        runs = [_with_failures(each.ttft_ms, each.measured, each.ok) for each in thin]
        served = [_with_failures(each.service_ttft_ms, each.measured, each.ok) for each in thin]
        if runs and min(map(len, runs)) > 1:
            lines.append(_line(facts.name, look(place), runs, served))
    if not lines:
        return None
    slo = report.plan.contract.slo
    launches = sorted({len(line.runs) for line in lines})
    counts = sorted(line.count for line in lines)
    basis = "simulation" if report.summary.rehearsal else "measurement"
    return Tail(
        lines=tuple(lines),
        limit_ms=slo.ttft_ms,
        percentile=slo.percentile,
        caption=(
            f"n = {_range(counts)} requests per launch, R = {run_words(launches)}; "
            f"{basis}. Every request is in it."
        ),
    )


def last_percent(count: int) -> float:
    """The highest percentile of which ``count`` requests still have an upper 95% limit."""
    return 100 * (1 - LEVEL) ** (1 / count) if count else 0.0


def requests_for(percent: float) -> int:
    """How many requests an upper 95% limit of that percentile takes: 59 for p95."""
    return ceil(log(1 - LEVEL) / log(percent / 100))


def draw(data: Tail) -> Drawing:
    """The figure with its finding."""
    definition = (
        "TTFT by percentile, on a scale on which each step to the right is as rare again. Thin "
        "lines are launches, the bold one their median; a line ends where too few requests "
        "are left for a limit. Dotted: service TTFT, where it differs."
    )
    sheet = Sheet(height=3.7, right=names_room(data.lines))
    return drawing(
        lambda figure: _draw(figure.subplots(), data),
        sheet,
        name=NAME,
        title="tail",
        finding=finding(data),
        definition=definition,
        caption=data.caption,
        table=_table(data),
    )


def finding(data: Tail) -> str:
    """The tail of the candidate whose p99 (or p95) is furthest from its median."""
    found = []
    for line in data.lines:
        for place in (3, 2):
            high, middle = line.shown[place], line.shown[0]
            if high is not None and middle:
                found.append((high / middle, line.name, _SHOWN[place], high, middle))
                break
    if not found:
        return "Too few requests were measured to say anything of the tail."
    factor, name, percent, high, middle = max(found)
    rare = round(100 / (100 - percent))
    return (
        f"One request in {rare} to {name} waits {significant(high)} ms or more for its first "
        f"token, {significant(factor, 2)} times the median of {significant(middle)} ms."
    )


def _with_failures(values_ms: Reals, measured: Flags, ok: Flags) -> Reals:
    """The measured requests' values in order, failures as infinite."""
    chosen = values_ms[measured]
    values = np.where(ok[measured] & np.isfinite(chosen), chosen, np.inf)
    ordered: Reals = np.sort(values)
    return ordered


def _line(name: str, each: Look, runs: list[Reals], served: list[Reals]) -> Line:
    count = min(map(len, runs))
    percents = [p for p in _GRID if p <= last_percent(count)]
    by_run = [_at(run, percents) for run in runs]
    median = _until_infinite(np.median(np.array(by_run), axis=0).tolist())
    service = _until_infinite(
        np.median(np.array([_at(run, percents) for run in served]), axis=0).tolist()
    )
    apart = any(m > s * _APART for m, s in zip(median, service, strict=False))
    return Line(
        name=name,
        look=each,
        runs=tuple(_until_infinite(values) for values in by_run),
        median=median,
        service=service if apart else (),
        shown=tuple(_shown(runs, percent, count) for percent in _SHOWN),
        count=count,
    )


def _at(ordered: Reals, percents: list[float]) -> list[float]:
    """Percentiles by nearest rank."""
    places = [max(0, ceil(len(ordered) * p / 100 - 1e-9) - 1) for p in percents]
    return [float(ordered[place]) for place in places]


def _until_infinite(values: list[float]) -> tuple[float, ...]:
    finite = [np.isfinite(value) for value in values]
    end = finite.index(False) if False in finite else len(values)
    return tuple(values[:end])


def _shown(runs: list[Reals], percent: float, count: int) -> float | None:
    if percent > last_percent(count):
        return None
    middle = float(np.median([_at(run, [percent])[0] for run in runs]))
    return middle if np.isfinite(middle) else None


def _draw(axes: Axes, data: Tail) -> None:
    ends, most, least = [], 0.0, float("inf")
    for line in data.lines:
        for run in line.runs:
            axes.plot(_odds(len(run)), run, color=line.look.colour, linewidth=0.8, alpha=0.45)
        if line.service:
            axes.plot(
                _odds(len(line.service)),
                line.service,
                color=line.look.colour,
                linestyle=(0, (1, 2)),
            )
        if not line.median:
            continue
        xs = _odds(len(line.median))
        axes.plot(
            xs, line.median, color=line.look.colour, linestyle=line.look.dash, linewidth=2.4
        )
        axes.plot(xs[-1], line.median[-1], marker=line.look.marker, color=line.look.colour)
        ends.append(Label(text=line.name, x=xs[-1], y=line.median[-1], colour=line.look.colour))
        every = [value for run in line.runs for value in run] + list(line.service)
        seen = [value for value in every if value > 0]  # a logarithmic axis has no place for 0
        least, most = min([least, *seen]), max([most, *seen])
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlim(1.9, 1100)
    axes.set_xticks([_odd(p) for p in _SHOWN], [f"p{p:g}" for p in _SHOWN])
    axes.minorticks_off()
    if ends and most > 0:
        _limit(axes, data, least, most)
    axes.set_xlabel("percentile of requests")
    axes.set_ylabel("TTFT, ms")
    put_right(axes, ends)


def _limit(axes: Axes, data: Tail, least: float, most: float) -> None:
    """The contract's limit up to its percentile; far above everything, only a word of it."""
    limit, words = data.limit_ms, f"limit at p{data.percentile:g}: {data.limit_ms or 0:,g} ms"
    is_near = limit is not None and limit <= _NEAR * most
    if limit is not None and is_near:
        odds, dash = _odd(data.percentile), (0, (4, 2))
        axes.plot([1.9, odds], [limit] * 2, color=FAIL, linestyle=dash, linewidth=1.3)
        axes.plot([odds] * 2, [least / 1.3, limit], color=FAIL, linestyle=dash, linewidth=1)
        axes.text(2, limit, words, color=FAIL, va="bottom")
        most = max(most, limit)
    elif limit is not None:
        axes.text(
            0.01, 0.97, f"{words}, above this", color=FAIL, va="top", transform=axes.transAxes
        )
    axes.set_ylim(least / 1.3, most * 1.35)
    plain_ticks(axes, "y", log_places(least, most, (1, 1.5, 2, 3, 5, 7)))


def _odds(count: int) -> list[float]:
    return [_odd(percent) for percent in _GRID[:count]]


def _odd(percent: float) -> float:
    return 100 / (100 - percent)


def _range(values: list[int]) -> str:
    low, high = values[0], values[-1]
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _table(data: Tail) -> Table:
    columns = (
        Column(title="Candidate"),
        *(Column(title=f"p{percent:g}", unit="ms", right=True) for percent in _SHOWN),
    )
    rows = []
    for line in data.lines:
        cells = [Cell(text=line.name)]
        for percent, value in zip(_SHOWN, line.shown, strict=True):
            if value is None:
                why = (
                    f"needs {requests_for(percent):,} requests"
                    if percent > last_percent(line.count)
                    else "among the failures"
                )
                cells.append(Cell(text=DASH, meaning="none", detail=why))
            else:
                cells.append(Cell(text=significant(value)))
        rows.append(tuple(cells))
    return Table(title="TTFT by percentile", columns=columns, rows=tuple(rows))
