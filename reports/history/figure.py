"""Figure 9, history: each watched metric over the time, with the changes of its level."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.figures.canvas import WIDE, Drawing, Sheet, drawing, plain_ticks, room
from reports.figures.labels import Label, put_right, short
from reports.figures.palette import INK, look
from reports.history.series import WATCHED, Seen, Series, too_few
from reports.history.words import change_words
from reports.metric_names import metric_name
from reports.number_words import DASH, digits, unit_words
from reports.tables import Cell, Column, Meaning, Table

_LEAST: Final = 2  # values; one is no line
_DAY_S: Final = 86400.0
_FEW_DAYS: Final = 3.0
DEFINITION: Final = (
    "The median over launches of each run, in order of time. A dotted line marks the run with "
    "which the level changed, a tick at the bottom one whose release, launch, driver, kernel, "
    "processor or price differs from the run before. Hollow points are cells that are no "
    "valid evidence and not looked at for changes; × at the top are infinite."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Series that can stand in one figure; the candidates' places fix how they look."""

    name: str
    series: tuple[Series, ...]
    places: dict[str, int]

    @property
    def watched(self) -> tuple[Series, ...]:
        """Those that are drawn and searched."""
        return tuple(each for each in self.series if each.is_watched)


def figure(group: Group) -> Drawing | str:
    """The figure, or why there is none."""
    panels = _panels(group)
    if not panels:
        return "no metric has two comparable runs"
    names = {series.key.candidate for panel in panels for series in panel}
    sheet = Sheet(
        width=WIDE,
        height=0.9 + 1.75 * len(panels),
        right=room(short(name) for name in names) + 0.12,
        down=0.35,
    )
    return drawing(
        lambda canvas: _draw(canvas, panels, group.places),
        sheet,
        name=group.name,
        title="history",
        finding=finding(group.watched),
        definition=DEFINITION,
        caption=_caption(group.watched),
        table=series_table(group.watched),
        is_wide=True,
    )


def finding(watched: Sequence[Series]) -> str:
    """The greatest change, or that none is shown, or that nothing can be said."""
    found = [(series, change) for series in watched for change in series.changes or ()]
    if found:
        series, change = max(found, key=lambda pair: pair[1].size)
        more = f"; {len(found) - 1} more in the table" if len(found) > 1 else ""
        return f"{_who(series)} {change_words(series, change)}{more}."
    searched = [series for series in watched if series.changes is not None]
    if not searched:
        return f"Nothing can be said of changes yet: {too_few(_longest(watched))}."
    return f"No change of level is shown in {len(_longest(searched).seen)} comparable runs."


def series_table(found: Sequence[Series]) -> Table:
    """A row per series: how it began, where it is, what changed."""
    columns = (
        Column(title="Candidate"),
        Column(title="Metric"),
        Column(title="Load"),
        Column(title="Unit"),
        Column(title="Runs", right=True),
        Column(title="First", right=True),
        Column(title="Last", right=True),
        Column(title="Lowest–highest", right=True),
        Column(title="Changes of level"),
    )
    rows = tuple(
        (
            Cell(text=series.key.candidate),
            Cell(text=metric_name(series.key.metric)),
            Cell(text=series.key.load_point),
            Cell(text=unit_words(series.seen[-1].point.unit)),
            Cell(text=f"{len(series.seen)}", detail=_no_evidence(series)),
            _value(series.seen[0]),
            _value(series.seen[-1]),
            _range(series),
            _changes(series),
        )
        for series in found
    )
    return Table(title="Series of comparable runs", columns=columns, rows=rows)


def _panels(group: Group) -> tuple[tuple[Series, ...], ...]:
    panels = []
    for metric in WATCHED:
        found = [s for s in group.watched if s.key.metric == metric]
        if any(len(series.values) >= _LEAST for series in found):
            panels.append(tuple(found))
    return tuple(panels)


def _draw(canvas: Figure, panels: Sequence[Sequence[Series]], places: dict[str, int]) -> None:
    axes = canvas.subplots(len(panels), 1, sharex=True, squeeze=False)
    for place, panel in enumerate(panels):
        one: Axes = axes[place][0]
        ends = [_line(one, series, places) for series in panel]
        one.set_title(_title(panel[0]), loc="left")
        one.margins(x=0.03, y=0.18)
        plain_ticks(one, "y")
        put_right(one, [each for each in ends if each is not None], line=0.13)
    last: Axes = axes[-1][0]
    times = [_at(seen) for panel in panels for series in panel for seen in series.seen]
    _days(last, min(times), max(times))


def _line(axes: Axes, series: Series, places: dict[str, int]) -> Label | None:
    style = look(places.get(series.key.candidate, 0))
    shown = [each for each in series.seen if each.point.value is not None]
    valid = [each for each in shown if each.value is not None]
    xs, ys = [_at(each) for each in valid], [each.point.value or 0.0 for each in valid]
    axes.plot(xs, ys, color=style.colour, linestyle=style.dash, linewidth=1.2, zorder=3)
    axes.plot(xs, ys, style.marker, color=style.colour, markersize=4, zorder=3)
    for each in shown:
        if each.value is None:
            axes.plot(
                _at(each),
                each.point.value or 0.0,
                style.marker,
                color=style.colour,
                markerfacecolor="none",
                markersize=5,
            )
    lower, upper = axes.get_xaxis_transform(), axes.get_xaxis_transform()
    for each in series.seen:
        if each.marks:
            axes.plot(_at(each), 0.03, "|", color=INK, markersize=7, transform=lower)
        if each.point.is_infinite:
            axes.plot(_at(each), 0.97, "x", color=style.colour, transform=upper)
    for change in series.changes or ():
        at = next(_at(each) for each in series.seen if each.run.path == change.path)
        axes.axvline(at, color=style.colour, linestyle=(0, (1, 2)), linewidth=1.4)
    if not shown:
        return None
    end = shown[-1]
    return Label(
        text=series.key.candidate, x=_at(end), y=end.point.value or 0.0, colour=style.colour
    )


def _title(series: Series) -> str:
    name, unit = metric_name(series.key.metric), unit_words(series.seen[-1].point.unit)
    return name if name.endswith(unit) else f"{name}, {unit}"


def _days(axes: Axes, first: float, last: float) -> None:
    """Up to five dates, with the hour where all lies within a few days."""
    span = last - first
    steps = 4 if span > 0 else 0
    places = [first + span * step / max(steps, 1) for step in range(steps + 1)]
    form = "%Y-%m-%d" if span > _FEW_DAYS else "%m-%d %H:%M"
    words = [dt.datetime.fromtimestamp(day * _DAY_S, dt.UTC).strftime(form) for day in places]
    axes.set_xticks(places, words)
    axes.set_xlabel("begun (UTC)")


def _at(seen: Seen) -> float:
    """Days since the epoch."""
    return seen.run.order[0].timestamp() / _DAY_S


def _caption(watched: Sequence[Series]) -> str:
    runs = sorted(len(each.seen) for each in watched)
    bases = ", ".join(dict.fromkeys(s.seen[-1].point.basis.value for s in watched))
    return f"R = {runs[0]} to {runs[-1]} runs per line; {bases}."


def _who(series: Series) -> str:
    return f"{series.key.candidate}: {metric_name(series.key.metric)}"


def _longest(found: Sequence[Series]) -> Series:
    return max(found, key=lambda each: sum(seen.value is not None for seen in each.seen))


def _no_evidence(series: Series) -> str:
    count = sum(each.value is None for each in series.seen)
    return f"{count} without valid evidence" if count else ""


def _value(seen: Seen) -> Cell:
    if seen.point.is_infinite:
        return Cell(text="∞", detail=seen.run.day)
    meaning: Meaning = "none" if seen.point.value is None else ""
    return Cell(
        text=digits(seen.point.value, seen.point.unit), meaning=meaning, detail=seen.run.day
    )


def _range(series: Series) -> Cell:
    values, unit = series.values, series.seen[-1].point.unit
    if not values:
        return Cell(text=DASH, meaning="none", detail="no valid evidence")
    return Cell(text=f"{digits(min(values), unit)}–{digits(max(values), unit)}")


def _changes(series: Series) -> Cell:
    if not series.is_watched:
        return Cell(text=DASH, meaning="none", detail="not looked for")
    if series.changes is None:
        return Cell(text=DASH, meaning="none", detail=too_few(series))
    if not series.changes:
        return Cell(text="none shown")
    words = "; ".join(change_words(series, each) for each in series.changes)
    return Cell(text=words, meaning="warn")
