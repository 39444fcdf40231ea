"""Figure 7, forest: candidates against the leader, each metric with its interval and word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from catalog.quantity import significant
from reports.figures.canvas import WIDE, Drawing, Sheet, drawing, log_places, plain_ticks, room
from reports.figures.labels import short
from reports.figures.palette import INK, MUTED, SHEET, look
from reports.figures.series import run_words
from reports.metric_names import metric_name
from reports.number_words import DASH, interval
from reports.report import Report
from reports.run.decision_file import Comparison
from reports.run.number import Number
from reports.tables import Cell, Column, Meaning, Table

NAME = "forest"
MISSING = "no two candidates could be compared"
MOST_ROWS: Final = 24
WORD_MEANING: dict[str, Meaning] = {
    "better": "pass",
    "worse": "fail",
    "no difference shown": "",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One comparison: ratio of the candidate over the other, and the word that is allowed."""

    candidate: str
    against: str
    metric: str
    ratio: Number
    margin: float
    word: str
    place: int


def figure(report: Report) -> Drawing | str:
    """The figure, or why there is none."""
    rows = forest(report)
    return draw(rows) if any(row.ratio.value for row in rows) else MISSING


def forest(report: Report) -> tuple[Row, ...]:
    """A row per comparison of the decision."""
    order = {facts.name: place for place, facts in enumerate(report.plan.candidates)}
    return tuple(_row(each, order) for each in report.decision.comparisons)


def draw(rows: tuple[Row, ...]) -> Drawing:
    """The figure with its finding."""
    definition = (
        "Ratio of each candidate to the one it is held against (log). The band is the margin "
        "within which a difference does not count; a word needs the whole interval outside it."
    )
    drawn_rows = rows[:MOST_ROWS]
    sheet = Sheet(
        width=WIDE,
        height=0.75 + 0.34 * len(drawn_rows),
        left=room(_names(drawn_rows)),
        right=1.75,
        top=0.1,
    )
    runs = sorted({row.ratio.runs for row in rows if row.ratio.runs is not None})
    launches = f"R = {run_words(runs)}. " if runs else ""
    bases = ", ".join(dict.fromkeys(row.ratio.basis.value for row in rows))
    return drawing(
        lambda figure: _draw(figure, drawn_rows),
        sheet,
        name=NAME,
        title="forest",
        finding=finding(rows),
        definition=definition,
        caption=f"{launches}95% intervals of the log ratio; {bases}.{_left_out(rows)}",
        table=comparison_table(rows),
    )


def finding(rows: tuple[Row, ...]) -> str:
    """The clearest difference, and in how many comparisons none was shown."""
    shown = [row for row in rows if row.word != "no difference shown" and row.ratio.value]
    silent = len(rows) - len(shown)
    if not shown:
        return "In no comparison was a difference shown."
    most = max(shown, key=lambda row: abs((row.ratio.value or 1.0) - 1.0))
    text = (
        f"{most.candidate} is {most.word} than {most.against} in {metric_name(most.metric)}: "
        f"{significant(most.ratio.value or 0.0)} times"
    )
    return f"{text}; in {silent} of {len(rows)} comparisons no difference was shown."


def comparison_table(rows: tuple[Row, ...]) -> Table:
    """The comparisons' numbers."""
    columns = (
        Column(title="Candidate"),
        Column(title="Against"),
        Column(title="Metric"),
        Column(title="Ratio", unit="low–middle–high", right=True),
        Column(title="Margin", unit="± %", right=True),
        Column(title="Word"),
    )
    return Table(
        title="Comparisons",
        columns=columns,
        rows=tuple(
            (
                Cell(text=row.candidate),
                Cell(text=row.against),
                Cell(text=metric_name(row.metric)),
                Cell(text=interval_of(row.ratio), detail=row.ratio.note or ""),
                Cell(text=significant(row.margin * 100)),
                Cell(text=row.word, meaning=WORD_MEANING.get(row.word, "")),
            )
            for row in rows
        ),
    )


def interval_of(ratio: Number) -> str:
    """A ratio's interval; ratios are numbers, never shares."""
    if ratio.value is None:
        return DASH
    return interval(ratio.model_copy(update={"unit": "ratio"}))


def _row(found: Comparison, order: dict[str, int]) -> Row:
    return Row(
        candidate=found.candidate,
        against=found.against,
        metric=found.metric,
        ratio=found.ratio,
        margin=found.margin,
        word=found.word,
        place=order.get(found.candidate, 0),
    )


def _draw(figure_: Figure, rows: tuple[Row, ...]) -> None:
    axes: Axes = figure_.subplots()
    seen = [
        v
        for row in rows
        for v in (row.ratio.low, row.ratio.value, row.ratio.high)
        if v and v > 0
    ]
    margin = max(row.margin for row in rows)
    low, high = min(*seen, 1 - 2 * margin), max(*seen, 1 + 2 * margin)
    axes.axvspan(1 / (1 + margin), 1 + margin, color=SHEET, linewidth=0)
    axes.axvline(1, color=MUTED, linewidth=1)
    for height, row in enumerate(reversed(rows)):
        _one(axes, row, height)
    axes.set_xscale("log")
    axes.set_xlim(low / 1.06, high * 1.06)
    plain_ticks(axes, "x", _places(low, high))
    axes.set_ylim(-0.6, len(rows) - 0.4)
    axes.set_yticks(range(len(rows)), _names(rows)[::-1])
    axes.grid(visible=False, axis="y")
    others = ", ".join(dict.fromkeys(short(row.against) for row in rows))
    axes.set_xlabel(f"ratio to {others}")


def _left_out(rows: tuple[Row, ...]) -> str:
    more = len(rows) - MOST_ROWS
    return f" {more} more comparisons are in the table." if more > 0 else ""


def _names(rows: tuple[Row, ...]) -> list[str]:
    return [f"{short(row.candidate)}, {metric_name(row.metric)}" for row in rows]


def _one(axes: Axes, row: Row, height: int) -> None:
    each, ratio = look(row.place), row.ratio
    if ratio.value is None:
        axes.text(1, height, "no ratio", color=MUTED, va="center")
        return
    if ratio.low and ratio.high:
        axes.plot([ratio.low, ratio.high], [height] * 2, color=each.colour, linewidth=2)
    axes.plot(ratio.value, height, marker=each.marker, color=each.colour, markersize=7)
    axes.text(
        1.012,
        height,
        row.word,
        color=INK,
        va="center",
        transform=axes.get_yaxis_transform(),
        fontweight="normal" if row.word == "no difference shown" else "bold",
        clip_on=False,
    )


def _places(low: float, high: float) -> list[float]:
    if high / low < 1.5:
        near = [0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.4]
    elif high / low < 3:
        near = [0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.2, 1.4, 1.6, 2.0, 2.5]
    else:
        near = log_places(low, high, (1, 1.5, 2, 3, 5, 7))
    return [place for place in near if low / 1.05 <= place <= high * 1.05]
