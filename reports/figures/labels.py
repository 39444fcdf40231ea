"""Labels beside lines and points, moved apart where they would cover each other."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

from matplotlib.axes import Axes

from reports.figures.canvas import halo, room

_LINE: Final = 0.058  # height of a label as a share of the axes
LONGEST: Final = 22
_END: Final = 8  # characters kept at the end, where names of one kind differ


class Named(Protocol):
    """A line with its candidate's name."""

    @property
    def name(self) -> str:
        """The candidate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A text at the end of a line, in the line's colour; the place is in data units."""

    text: str
    x: float
    y: float
    colour: str


def short(name: str) -> str:
    """The name as a figure has room for it, cut in its middle."""
    if len(name) <= LONGEST:
        return name
    return f"{name[: LONGEST - _END - 1]}…{name[-_END:]}"


def names_room(lines: Iterable[Named]) -> float:
    """Inches that the longest name of some lines takes beside them."""
    return room(short(line.name) for line in lines)


def put_right(axes: Axes, labels: Sequence[Label], *, line: float = _LINE) -> None:
    """Labels in the right margin, next to the height of their line's end.

    A fine line leads from each end to its label, so that labels which had to make room for
    each other claim no order.
    """
    transform = axes.transData + axes.transAxes.inverted()
    wanted = sorted(
        (([float(v) for v in transform.transform((each.x, each.y))], each) for each in labels),
        key=lambda pair: pair[0][1],
    )
    places = spread([height for (_, height), _ in wanted], line)
    for place, ((x, y), each) in zip(places, wanted, strict=True):
        axes.plot(
            [min(x, 1.0), 1.03],
            [min(max(y, 0.0), 1.0), place],
            transform=axes.transAxes,
            color=each.colour,
            linewidth=0.6,
            linestyle=(0, (1, 2)),
            clip_on=False,
            zorder=1,
        )
        axes.text(
            1.035,
            place,
            short(each.text),
            transform=axes.transAxes,
            color=each.colour,
            va="center",
            ha="left",
            fontweight="bold",
            clip_on=False,
        )


def spread(heights: Sequence[float], line: float) -> list[float]:
    """Heights in order at least one line apart, moved as little as a pass up and down can."""
    places = [min(max(height, 0.0), 1.0) for height in heights]
    for place in range(1, len(places)):
        places[place] = max(places[place], places[place - 1] + line)
    excess = max(0.0, places[-1] - 1.0) if places else 0.0
    if excess:
        places[-1] -= excess
        for place in range(len(places) - 2, -1, -1):
            places[place] = min(places[place], places[place + 1] - line)
    return places


def put_beside(axes: Axes, text: str, x: float, y: float, colour: str) -> None:
    """A small label above and right of a point."""
    axes.annotate(
        text,
        (x, y),
        xytext=(5, 5),
        textcoords="offset points",
        color=colour,
        fontsize=8.5,
        **halo(),
    )
