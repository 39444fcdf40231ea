"""What several figures draw alike: limits, whiskers, and an axis of load levels."""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, log
from typing import Any, Final

from matplotlib.axes import Axes

from reports.figures.canvas import plain_ticks
from reports.figures.palette import FAIL
from reports.run.number import Number

LIMIT: Final[dict[str, Any]] = {"color": FAIL, "linestyle": (0, (4, 2)), "linewidth": 1.3}
_STEP, _ROOM = 0.04, 0.35  # shares of the axis: between two candidates, for all of them
_ALONE: Final = 4.0  # an axis of one level spans this factor
_APART: Final = 1.4
_TICKS: Final = 6


def whisker(
    axes: Axes, number: Number, at: float, colour: str, *, is_level: bool = False
) -> None:
    """The interval of a number, upright or level; nothing where a limit is missing."""
    if number.low is None or number.high is None:
        return
    ends, across = [number.low, number.high], [at, at]
    axes.plot(*((ends, across) if is_level else (across, ends)), color=colour, linewidth=1)


def dodged(level: float, place: int, count: int, levels: Sequence[float]) -> float:
    """Where the candidate at that place is drawn, so that none lies on another."""
    span = log(max(levels) / min(levels)) or log(_ALONE)
    step = min(_STEP, _ROOM / (count * len(levels)))
    return level * exp(span * step * (place - (count - 1) / 2))


def level_axis(axes: Axes, levels: Sequence[float]) -> None:
    """A logarithmic axis of levels, with room where there is only one."""
    axes.set_xscale("log")
    plain_ticks(axes, "x", _thinned(sorted(levels)))
    if len(levels) == 1:
        axes.set_xlim(levels[0] / _ALONE**0.5, levels[0] * _ALONE**0.5)


def _thinned(levels: list[float]) -> list[float]:
    """At most six of the levels, at least a factor of 1.4 apart."""
    kept: list[float] = []
    for level in levels:
        if not kept or level / kept[-1] >= _APART:
            kept.append(level)
    return kept[:: max(1, -(-len(kept) // _TICKS))]
