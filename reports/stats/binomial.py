"""Exact bounds for a share: Clopper and Pearson, Biometrika 26 (1934) 404-413."""

from __future__ import annotations

from scipy.special import betaincinv


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
