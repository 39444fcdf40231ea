"""Figure 6, timeline: every request of the decision cell, launch by launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Final

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from catalog.quantity import significant
from reports.columns import Flags, Reals
from reports.figures.canvas import WIDE, Drawing, Sheet, drawing, log_places, plain_ticks
from reports.figures.palette import FAIL, INK, MUTED, SHEET, WARN, Look, look
from reports.number_words import launches
from reports.report import Report
from reports.tables import Cell, Column, Table
from reports.thin import Thin

Places = NDArray[np.intp]

NAME = "timeline"
MISSING = "no records of the decision cell are in the run"
MOST_POINTS: Final = 1_800  # of all launches together
MOST_ROWS: Final = 5
_SLOWEST: Final = 20
_STEPS: Final = 160
_MOST_BINS: Final = 60
_PER_BIN: Final = 8  # requests that a bin holds on average, at least
_NAMED: Final = 0.08  # a band narrower than this share has no room for its name
_LATE_MS: Final = 1.0
_BANDS: Final = {"warmup": "warm-up", "drain": "drain"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One launch: thinned requests, and the whole load on a grid of seconds.

    ``at_s`` and ``ttft_ms`` are the drawn requests, ``failed_s`` and ``late_s`` when requests
    failed or left over 1 ms late; ``flight`` are requests in flight at ``grid_s``,
    ``tokens_per_s`` output tokens of what ended in each bin of ``bins_s``.
    """

    replication: int
    at_s: Reals
    ttft_ms: Reals
    failed_s: Reals
    late_s: Reals
    grid_s: Reals
    flight: Reals
    bins_s: Reals
    tokens_per_s: Reals
    bands: Mapping[str, tuple[float, float]]
    count: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """The launches of one candidate at the load that decides."""

    name: str
    look: Look
    load_point: str
    rows: tuple[Row, ...]
    launches: int
    limit_ms: float | None
    basis: str


def figure(report: Report) -> Drawing | str:
    """The figure, or why there is none."""
    data = timeline(report)
    return MISSING if data is None else draw(data)


def timeline(report: Report) -> Timeline | None:
    """The figure's data, of the choice or else of the first candidate with records."""
    names = [name for name, _ in sorted(report.thin) if name]
    order = [report.decision.chosen, *(each.name for each in report.places)]
    name = next((each for each in order if each in names), None)
    if name is None:
        return None
    found = [
        (r, thin) for (who, r), thin in sorted(report.thin.items()) if who == name and len(thin)
    ]
    if not found:
        return None
    shown = found[:MOST_ROWS]
    step = max(1, ceil(sum(len(thin) for _, thin in shown) / MOST_POINTS))
    place = [facts.name for facts in report.plan.candidates].index(name)
    return Timeline(
        name=name,
        look=look(place),
        load_point=report.decision_point(name) or "",
        rows=tuple(_row(replication, thin, step) for replication, thin in shown),
        launches=len(found),
        limit_ms=report.plan.contract.slo.ttft_ms,
        basis="simulation" if report.summary.rehearsal else "measurement",
    )


def draw(data: Timeline) -> Drawing:
    """The figure with its finding."""
    definition = (
        f"{data.name} at {data.load_point}. A dot is a request's TTFT (log) at the time it was "
        "due; below, requests in flight (filled) and output tokens/s (line). Shaded: warm-up "
        "and drain. × failed; a tick at the foot left over 1 ms late."
    )
    sheet = Sheet(width=WIDE, height=0.9 + 2.0 * len(data.rows), right=0.85, down=0.28)
    return drawing(
        lambda figure: _draw(figure, data),
        sheet,
        name=NAME,
        title="timeline",
        finding=finding(data),
        definition=definition,
        caption=_caption(data),
        table=_table(data),
    )


def finding(data: Timeline) -> str:
    """How even the load was over the measured windows."""
    changes = [_change(row) for row in data.rows]
    known = [change for change in changes if change is not None]
    flights = [row.flight[_inside(row)] for row in data.rows]
    mean = float(np.mean([part.mean() for part in flights if len(part)]))
    if not known:
        return f"{data.name} held {significant(mean)} requests in flight on average."
    worst = max(known, key=abs)
    sign = "rose" if worst > 0 else "fell"
    return (
        f"{data.name} held {significant(mean)} requests in flight on average; over the worst "
        f"measured window TTFT {sign} by {significant(abs(worst) * 100, 2)}%."
    )


def _change(row: Row) -> float | None:
    """Median TTFT of the window's second half over that of its first, less one."""
    start, end = row.bands.get("measured", (0.0, 0.0))
    middle = (start + end) / 2
    first = row.ttft_ms[(row.at_s >= start) & (row.at_s < middle)]
    second = row.ttft_ms[(row.at_s >= middle) & (row.at_s <= end)]
    if len(first) < 5 or len(second) < 5:
        return None
    return float(np.median(second) / np.median(first)) - 1


def _inside(row: Row) -> Flags:
    start, end = row.bands.get("measured", (0.0, float("inf")))
    inside: Flags = (row.grid_s >= start) & (row.grid_s <= end)
    return inside


def _row(replication: int, thin: Thin, step: int) -> Row:
    drawable = np.flatnonzero(thin.ok & np.isfinite(thin.ttft_ms))
    kept = np.unique(np.concatenate([drawable[::step], _slowest(thin, drawable)]))
    end = float(np.nanmax(np.concatenate([thin.scheduled_s, thin.done_s])))
    grid = np.linspace(0.0, end, _STEPS)
    bins = min(_MOST_BINS, max(4, len(thin) // _PER_BIN))
    edges = np.linspace(0.0, end or 1.0, bins + 1)
    done = np.sort(np.where(np.isfinite(thin.done_s), thin.done_s, thin.scheduled_s))
    begun = np.searchsorted(thin.scheduled_s, grid, side="right")
    ended_by = np.searchsorted(done, grid, side="right")
    ended = np.isfinite(thin.done_s) & np.isfinite(thin.tokens)
    tokens, _ = np.histogram(thin.done_s[ended], edges, weights=thin.tokens[ended])
    return Row(
        replication=replication,
        at_s=thin.scheduled_s[kept],
        ttft_ms=thin.ttft_ms[kept],
        failed_s=_thinned(thin.scheduled_s[~thin.ok]),
        late_s=_thinned(thin.scheduled_s[thin.lag_ms > _LATE_MS]),
        grid_s=grid,
        flight=(begun - ended_by).astype(np.float64),
        bins_s=(edges[:-1] + edges[1:]) / 2,
        tokens_per_s=tokens / (edges[1] - edges[0]),
        bands=thin.bands,
        count=len(thin),
        step=step,
    )


def _slowest(thin: Thin, drawable: Places) -> Places:
    order = np.argsort(thin.ttft_ms[drawable], kind="stable")
    slowest: Places = drawable[order[-_SLOWEST:]]
    return slowest


def _thinned(values: Reals) -> Reals:
    thinned: Reals = values[:: max(1, ceil(len(values) / 100))]
    return thinned


def _draw(figure_: Figure, data: Timeline) -> None:
    panels = figure_.subplots(
        2 * len(data.rows),
        1,
        sharex=True,
        squeeze=False,
        height_ratios=[1.7, 1] * len(data.rows),
    )[:, 0]
    seen = np.concatenate([row.ttft_ms for row in data.rows])
    values = [float(seen.min()), float(seen.max())] if len(seen) else [1.0, 10.0]
    if data.limit_ms is not None and data.limit_ms < 5 * values[1]:
        values.append(data.limit_ms)
    for place, row in enumerate(data.rows):
        _dots(panels[2 * place], row, data, (min(values), max(values)))
        _load(panels[2 * place + 1], row)
    panels[-1].set_xlabel("seconds since the first request was due")


def _dots(axes: Axes, row: Row, data: Timeline, span: tuple[float, float]) -> None:
    low, high = span[0] / 1.5, span[1] * 1.5
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    axes.set_xlim(0, float(row.grid_s[-1]) or 1.0)
    plain_ticks(axes, "y", log_places(span[0], span[1], (1, 3)))
    _shade(axes, row, named=True)
    axes.add_patch(_dot_path(row.at_s, row.ttft_ms, data.look.colour))
    if data.limit_ms is not None and data.limit_ms <= high:
        axes.axhline(data.limit_ms, color=FAIL, linestyle=(0, (4, 2)), linewidth=1.1)
    foot = axes.get_xaxis_transform()
    if len(row.late_s):
        axes.plot(row.late_s, np.full(len(row.late_s), 0.03), "|", color=WARN, transform=foot)
    if len(row.failed_s):
        axes.plot(
            row.failed_s, np.full(len(row.failed_s), 0.94), "x", color=FAIL, transform=foot
        )
    axes.set_ylabel("TTFT, ms")
    axes.yaxis.set_label_coords(-0.09, 0.5)
    axes.set_title(f"launch {row.replication}", loc="left", pad=3)


def _dot_path(xs: Reals, ys: Reals, colour: str) -> PathPatch:
    """Dots as one path of lines without length, which a few bytes each describe."""
    places = np.repeat(np.column_stack([xs, ys]), 2, axis=0)
    codes = np.tile([Path.MOVETO, Path.LINETO], len(xs))
    return PathPatch(
        Path(places, codes),
        fill=False,
        edgecolor=colour,
        linewidth=3,
        capstyle="round",
        alpha=0.75,
    )


def _load(axes: Axes, row: Row) -> None:
    axes.fill_between(row.grid_s, row.flight, step="mid", color=MUTED, alpha=0.35, linewidth=0)
    _shade(axes, row, named=False)
    axes.set_ylim(0, max(1.0, float(row.flight.max())) * 1.15)
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    axes.set_ylabel("in flight")
    axes.yaxis.set_label_coords(-0.09, 0.5)
    tokens = axes.twinx()
    tokens.grid(visible=False)
    tokens.plot(row.bins_s, row.tokens_per_s, color=INK, linewidth=1.2)
    tokens.set_ylim(0, max(1.0, float(row.tokens_per_s.max())) * 1.15)
    tokens.set_ylabel("tokens/s")
    tokens.spines["right"].set_visible(True)


def _shade(axes: Axes, row: Row, *, named: bool) -> None:
    for phase, words in _BANDS.items():
        if phase not in row.bands:
            continue
        start, end = row.bands[phase]
        if phase == "drain":
            end = float(row.grid_s[-1])
        axes.axvspan(start, end, color=SHEET, linewidth=0, zorder=0)
        if named and (end - start) > _NAMED * float(row.grid_s[-1]):
            axes.text(
                (start + end) / 2,
                0.97,
                words,
                color=MUTED,
                fontsize=8.5,
                ha="center",
                va="top",
                transform=axes.get_xaxis_transform(),
                clip_on=True,
            )


def _caption(data: Timeline) -> str:
    counts = sum(row.count for row in data.rows)
    step = data.rows[0].step
    thinned = (
        "every request is drawn"
        if step == 1
        else f"every {step}th request and the {_SLOWEST} slowest are drawn"
    )
    text = f"n = {counts:,} requests, R = {launches(len(data.rows))}; {data.basis}; {thinned}."
    if data.launches > len(data.rows):
        text += f" {data.launches - len(data.rows)} more launches are in the records."
    return text


def _table(data: Timeline) -> Table:
    rows = []
    for row in data.rows:
        start, end = row.bands.get("measured", (0.0, 0.0))
        flight = row.flight[_inside(row)]
        change = _change(row)
        rows.append(
            (
                Cell(text=f"launch {row.replication}"),
                Cell(text=f"{row.count:,}"),
                Cell(text=significant(end - start)),
                Cell(text=significant(float(flight.mean())) if len(flight) else "no window"),
                Cell(
                    text="too few requests"
                    if change is None
                    else f"{significant(change * 100, 2)}"
                ),
                Cell(text=f"{len(row.failed_s):,}"),
            )
        )
    columns = (
        Column(title="Launch"),
        Column(title="Requests", right=True),
        Column(title="Window", unit="s", right=True),
        Column(title="In flight", unit="mean", right=True),
        Column(title="TTFT, second half over first", unit="%", right=True),
        Column(title="Failed, drawn", right=True),
    )
    return Table(title="Timeline", columns=columns, rows=tuple(rows))
