"""The search for the highest rate that holds the contract: which rate next, and when to end.

Pure: the state is the tries so far. A grid from a guess of the capacity finds a rate that
holds and one that misses; halving what lies between them follows, to within 5% on either side
or six levels. Where a prediction of the capacity is there, which each try makes surer, the
rates just below and just above it come first: two levels are enough if it is right. What a
search finds proves nothing: its end names the load points that are to be proven, on launches
and seeds of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final, Self

from flows.matrix.amounts import SEARCH
from flows.matrix.points import poisson_point
from reports.run.plan_file import LoadPoint
from reports.run.search_file import SearchFile, Try

if TYPE_CHECKING:  # predictions take numpy, and plans are made without it
    from catalog.predict import Interval

MOST_LEVELS: Final = 6
TOLERANCE: Final = 0.05  # of the middle of the bracket, on either side of it
_FIRST: Final = 0.75  # of the guess: open arrivals hold less than a closed loop does
_UP: Final = 4 / 3
_DOWN: Final = 1 / 2
_DIGITS: Final = 3
_EITHER_SIDE: Final = 1.045  # of a prediction: the two are within the tolerance of their middle
_STEP: Final = 1.1  # away from a prediction that was wrong, and squared each time,
_LONGEST: Final = 2.0  # up to this
_BELIEVED: Final = 3  # tries; a prediction that is still wrong then is worth less than halving
_WILDEST: Final = 4.0  # times the guess, upwards or downwards, that a prediction is believed


@dataclass(frozen=True, slots=True, kw_only=True)
class Bracket:
    """What the tries say together, in requests per second.

    A rate that holds above one that misses is a lucky one: the miss counts. ``open`` are rates
    in between whose cells said neither; from ``ceiling`` on nothing valid can be measured.
    """

    held: float | None
    missed: float | None
    open: tuple[float, ...]
    ceiling: float | None

    @classmethod
    def of(cls, tries: Sequence[Try]) -> Self:
        """The bracket of what was tried."""
        missed = min(_rates(tries, "misses"), default=None)
        held = max(
            (rate for rate in _rates(tries, "holds") if missed is None or rate < missed),
            default=None,
        )
        unsaid = (*_rates(tries, "inconclusive"), *_rates(tries, "no valid evidence"))
        above_held = (rate for rate in unsaid if held is None or rate > held)
        return cls(
            held=held,
            missed=missed,
            open=tuple(sorted(rate for rate in above_held if missed is None or rate < missed)),
            ceiling=min(_rates(tries, "no valid evidence"), default=None),
        )


def search_point(rate_per_s: float, max_in_flight: int | None = None) -> LoadPoint:
    """A searched level of load; by its name it proves nothing."""
    point = poisson_point(rate_per_s, max_in_flight)
    return point.model_copy(update={"name": f"{SEARCH}{point.name}"})


def next_rate(
    guess_per_s: float, tries: Sequence[Try], expected: Interval | None = None
) -> float | None:
    """The rate to try next, in requests per second; None: the search has ended.

    ``guess_per_s`` is the most that a closed loop got done, ``expected`` the highest rate that
    should hold by all that was measured so far; both in requests per second.
    """
    if len(tries) >= MOST_LEVELS:
        return None
    tried = [each.rate_per_s for each in tries]
    bracket = Bracket.of(tries)
    found = None
    if expected is not None:
        found = _foretold(guess_per_s, expected.p50, bracket, tries)
    if found is None:
        found = _rounded(_FIRST * guess_per_s) if not tries else _from(bracket, tried)
    return None if found is None or found in tried else found


def ended(
    candidate: str, tries: Sequence[Try], *, max_in_flight: int | None = None
) -> SearchFile:
    """What the search has found, and the load points that are to be proven after it."""
    bracket = Bracket.of(tries)
    ends = [rate for rate in (bracket.held, bracket.missed) if rate is not None]
    return SearchFile(
        candidate=candidate,
        tries=tuple(tries),
        highest_held=bracket.held,
        lowest_missed=bracket.missed,
        proof=tuple(poisson_point(rate, max_in_flight) for rate in ends),
        why_ended=_why(bracket, len(tries)),
    )


def _foretold(
    guess_per_s: float, expected_per_s: float, bracket: Bracket, tries: Sequence[Try]
) -> float | None:
    """The rate next to the expected one that would tell most; None: halve what is left."""
    believed = min(max(expected_per_s, guess_per_s / _WILDEST), guess_per_s * _WILDEST)
    low, high = believed / _EITHER_SIDE, believed * _EITHER_SIDE
    held, missed = bracket.held, bracket.missed
    if not tries:
        return _rounded(low)
    if held is None:
        least = min(each.rate_per_s for each in tries)
        return _rounded(min(low, least / _step(len(tries))))
    if missed is None:
        if bracket.ceiling is not None:
            return None
        holding = sum(each.verdict == "holds" for each in tries)
        most = max(each.rate_per_s for each in tries)
        return _rounded(max(high, most * _step(holding)))
    if bracket.open or _is_close(held, missed) or len(tries) >= _BELIEVED:
        return None
    inside = [rate for rate in (low, high) if _parts(held, rate) and _parts(rate, missed)]
    return _rounded(inside[0]) if inside else None


def _step(count: int) -> float:
    """The factor away from a prediction that was wrong so often: squared each time, to 2."""
    return min(_LONGEST, float(_STEP**2 ** (count - 1)))


def _parts(low: float, high: float) -> bool:
    """Whether the second rate is so far above the first that a level between them counts."""
    return high > low * (1 + TOLERANCE / 2)


def _from(bracket: Bracket, tried: Sequence[float]) -> float | None:
    held, missed = bracket.held, bracket.missed
    if held is None:
        return _rounded(min(tried) * _DOWN)
    if missed is None and bracket.ceiling is None:
        return _rounded(max(tried) * _UP)
    marks = [held, *bracket.open] + ([] if missed is None else [missed])
    for low, high in pairwise(marks):
        if not _is_close(low, high):
            return _between(low, high)
    return None


def _between(low: float, high: float) -> float | None:
    middle = _rounded((low + high) / 2)
    return middle if low < middle < high else None


def _is_close(low: float, high: float) -> bool:
    return (high - low) / 2 <= TOLERANCE * (high + low) / 2


def _why(bracket: Bracket, levels: int) -> str:
    held, missed = bracket.held, bracket.missed
    if held is not None and missed is not None and _is_close(held, missed):
        return f"the bracket is within {TOLERANCE:.0%} of its middle"
    if levels >= MOST_LEVELS:
        return f"{MOST_LEVELS} levels were tried"
    if bracket.ceiling is not None:
        return f"from {bracket.ceiling:g}/s on no cell was valid"
    if bracket.open:
        return "the cells in between say neither"
    return "the search was stopped"


def _rates(tries: Sequence[Try], verdict: str) -> tuple[float, ...]:
    return tuple(each.rate_per_s for each in tries if each.verdict == verdict)


def _rounded(rate_per_s: float) -> float:
    return float(f"{rate_per_s:.{_DIGITS}g}")
