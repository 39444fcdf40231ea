"""One metric over several launches of a server: its middle, its spread, its interval.

A launch is the unit of evidence, so an interval rests on R values and nothing else:
    exp(mean(log x) ± t(R - 1) · sd(log x) / sqrt(R))                       (Student 1908)
which is exact where the logarithm of the metric is normal between launches. MAD is raw,
the median of |x - median|, unscaled; with three values it hides one outlier, therefore
minimum and maximum stand beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, isfinite, sqrt
from statistics import median
from typing import Final

import numpy as np
from scipy.special import stdtrit

from reports.columns import Reals
from reports.stats.quantiles import Bounds

METHOD: Final = "t on logarithms over launches"
# No server repeats itself more closely than by a thousandth; a smaller spread of few values
# is chance or rounding, and its interval would be far too tight.
LEAST_SPREAD: Final = 1e-3


@dataclass(frozen=True, slots=True, kw_only=True)
class Replicated:
    """One metric over `n_runs` launches; `low` and `high` are two-sided limits at `level`.

    Infinity stands for "beyond the failures". A launch without a value leaves every figure
    None, since it could have been any. `why` says why there is no interval.
    """

    median: float | None
    mad: float | None
    low: float | None
    high: float | None
    minimum: float | None
    maximum: float | None
    level: float
    n_runs: int
    method: str = METHOD
    why: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogMean:
    """Mean of logarithms with its standard error and degrees of freedom."""

    mean: float
    error: float
    degrees: float

    def limits(self, level: float) -> tuple[float, float]:
        """Return the two-sided limits of the mean, in logarithms."""
        reach = float(stdtrit(self.degrees, (1 + level) / 2)) * self.error
        return self.mean - reach, self.mean + reach


def replicated(values: Sequence[float | None], level: float = 0.95) -> Replicated:
    """Return a metric over launches, one value each.

    Parameters
    ----------
    values
        Infinity where a percentile lies among the failures, None where nothing was seen.
    level
        Of the two-sided interval.
    """
    seen = [value for value in values if value is not None]
    complete = bool(seen) and len(seen) == len(values)
    found = log_mean(values)
    low, high = _exponentials(found, level) if isinstance(found, LogMean) else (None, None)
    middle = median(seen) if complete else None
    return Replicated(
        median=middle,
        mad=None if middle is None or not isfinite(middle) else _mad(seen, middle),
        low=low,
        high=high,
        minimum=min(seen) if complete else None,
        maximum=max(seen) if complete else None,
        level=level,
        n_runs=len(values),
        why=None if isinstance(found, LogMean) else found,
    )


def one_sided(values: Sequence[float | None], level: float = 0.95) -> Bounds:
    """Return the one-sided limits of a metric over launches, each at `level` alone."""
    found = log_mean(values)
    if not isinstance(found, LogMean):
        return Bounds(low=None, high=None)
    low, high = _exponentials(found, 2 * level - 1)
    return Bounds(low=low, high=high)


def log_mean(values: Sequence[float | None]) -> LogMean | str:
    """Return the mean of the logarithms, or in words why there is none to rely on."""
    logs = logarithms(values)
    return logs if isinstance(logs, str) else mean_of(logs)


def logarithms(values: Sequence[float | None]) -> Reals | str:
    """Return the logarithm of each launch's value, or in words why they cannot be used."""
    if len(values) < 2:
        return "fewer than two launches"
    if any(value is None for value in values):
        return "a launch without a value"
    numbers = np.array(values, dtype=np.float64)
    if not np.isfinite(numbers).all():
        return "a launch whose value lies beyond the failures"
    if (numbers <= 0).any():
        return "a value that is not positive"
    return np.log(numbers)


def mean_of(logs: Reals) -> LogMean:
    """Return the mean of logarithms (at least two) with its standard error."""
    deviation = max(float(logs.std(ddof=1)), LEAST_SPREAD)
    return LogMean(
        mean=float(logs.mean()),
        error=deviation / sqrt(len(logs)),
        degrees=len(logs) - 1,
    )


def _exponentials(found: LogMean, level: float) -> tuple[float, float]:
    low, high = found.limits(level)
    return exp(low), exp(high) if high < 709 else inf


def _mad(values: Sequence[float], middle: float) -> float:
    return median(abs(value - middle) for value in values)
