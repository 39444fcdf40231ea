"""The highest rate at which a candidate is predicted to hold the contract."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

from catalog.predict.fit import Fitted
from catalog.predict.load import Load
from catalog.predict.predict import Interval, Question, holds
from catalog.predict.steps import StepTimes

_DRAWS: Final = 9
_HALVINGS: Final = 7
_GROWTHS: Final = 24
_LEAST_PER_S: Final = 1e-6


def capacity(
    fit: Fitted, question: Question, load: Load, guess_per_s: float, *, seed: int = 0
) -> Interval | None:
    """P10, median and P90 of that rate in requests per second; None: there is no such rate.

    ``load`` is an open one whose rate does not matter; ``guess_per_s`` is where to begin. A
    draw that holds at no rate counts as 0, and one that holds at every rate tells none.
    """
    found = [
        rate
        for number, times in enumerate((fit.best, *fit.draws)[:_DRAWS])
        if (rate := _highest(times, fit, question, load, guess_per_s, seed=seed + number))
        is not None
    ]
    highest = Interval.of(found) if len(found) > _DRAWS // 2 else None
    return highest if highest is not None and highest.p50 > 0 else None


def _highest(
    times: StepTimes,
    fit: Fitted,
    question: Question,
    load: Load,
    guess_per_s: float,
    *,
    seed: int,
) -> float | None:
    """Bisection on the logarithm of the rate; 0 where the smallest one misses, None no end."""

    def held(rate: float) -> bool:
        asked = replace(load, rate_per_s=rate)
        return holds(times, question, asked, fit, seed=seed)

    low = high = guess_per_s
    for _ in range(_GROWTHS):
        if not held(high):
            break
        low, high = high, high * 2
    else:
        return None
    if low == high:
        for _ in range(_GROWTHS):
            low /= 2
            if low < _LEAST_PER_S:
                return 0.0
            if held(low):
                break
            high = low
        else:
            return 0.0
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if held(middle):
            low = middle
        else:
            high = middle
    return math.sqrt(low * high)
