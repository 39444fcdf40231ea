"""The traffic at which another candidate becomes the cheaper one, in whole instances."""

from __future__ import annotations

from math import ceil
from typing import Final

_MOST_INSTANCES: Final = 1000
_ROUNDING: Final = 1e-9


def crossover_rate(
    hourly: float, held_rate: float, other_hourly: float, other_held_rate: float
) -> float | None:
    """Return the requests per second above which the other's fleet costs less; None: never.

    A fleet grows by an instance whenever the rate passes a multiple of what one holds; so
    the cost changes there alone.
    """
    for instances in range(_MOST_INSTANCES):
        rate = instances * held_rate
        cost = (instances + 1) * hourly
        others = max(1, ceil((rate + _ROUNDING) / other_held_rate))
        if others * other_hourly < cost:
            return rate
    return None
