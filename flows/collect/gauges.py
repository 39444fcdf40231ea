"""A gauge that was read from time to time: its mean over time, and what it reached."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from flows.collect.reading import Reading

Value = Callable[[Reading], float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """A gauge over a window: ``mean`` is weighted by time, linear between two readings."""

    mean: float
    most: float
    n: int


def course(
    readings: Sequence[Reading], value: Value, window_ns: tuple[int, int]
) -> Course | None:
    """The gauge's course in the window; None where no reading in it shows the gauge."""
    first_ns, last_ns = window_ns
    points = [
        ((reading.asked_ns + reading.answered_ns) / 2, found)
        for reading in readings
        if first_ns <= reading.asked_ns <= last_ns and (found := value(reading)) is not None
    ]
    if not points:
        return None
    values = [found for _, found in points]
    return Course(mean=_mean(points), most=max(values), n=len(points))


def _mean(points: Sequence[tuple[float, float]]) -> float:
    covered = points[-1][0] - points[0][0]
    if covered <= 0:
        return sum(value for _, value in points) / len(points)
    areas = ((t1 - t0) * (v0 + v1) / 2 for (t0, v0), (t1, v1) in pairwise(points))
    return sum(areas) / covered
