"""Exact bounds for a share: Clopper and Pearson, Biometrika 26 (1934) 404-413."""

from __future__ import annotations

import numpy as np
from scipy.special import betaincinv

from reports.columns import Reals


def share_lower_bound(hits: float, trials: float, level: float = 0.95) -> float:
    """Return the one-sided lower confidence limit of the probability behind `hits`."""
    if hits <= 0:
        return 0.0
    return float(betaincinv(hits, trials - hits + 1, 1 - level))


def share_upper_bound(hits: float, trials: float, level: float = 0.95) -> float:
    """Return the one-sided upper confidence limit of the probability behind `hits`."""
    if hits >= trials:
        return 1.0
    return float(betaincinv(hits + 1, trials - hits, level))


def share_limits(hits: Reals, trials: Reals, level: float = 0.95) -> tuple[Reals, Reals]:
    """Return both one-sided limits of many shares at once; counts need not be whole."""
    some, missed = np.maximum(hits, 1e-9), np.maximum(trials - hits, 1e-9)
    low = np.where(hits > 0, betaincinv(some, trials - hits + 1, 1 - level), 0.0)
    high = np.where(hits < trials, betaincinv(hits + 1, missed, level), 1.0)
    return low, high
