"""Audit of an arrival process: the load that was sent against the load asked for.

A renewal process with independent gaps of coefficient of variation c has
    CV of n gaps     log(CV / c) normal, variance (1 + c^2) / (2 n)       (gamma gaps)
    Fano factor      c^2 + (1 - c^4) / (6 counts), counts per window       (gamma gaps)
                     times chi-square / (windows - 1)
    lag-1 autocorrelation of the gaps   -1 / n, variance 1 / n
    rate             n over a gamma variable of shape n / c^2              (gamma gaps)
to leading order (Cox, Renewal Theory, 1962, 4.5; Bartlett 1946 for the last). The limits
stand so far out that an honest process crosses any of them in fewer than one cell in a
thousand, and never closer than what timers and networks add to an honest schedule.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, sqrt
from typing import Final, Literal

import numpy as np
from scipy.special import gammaincinv

from reports.columns import Ints, Reals

Process = Literal["poisson", "constant", "gamma", "closed", "trace"]

MIN_GAPS: Final = 20  # with fewer an audit could refuse nothing
_DEVIATIONS: Final = 4.5
_TAIL: Final = 5e-5
_COUNTS_PER_WINDOW: Final = 10
_MIN_WINDOWS: Final = 10
_SHAPE_TOLERANCE: Final = 0.1  # timers blur gaps of a millisecond by as much
_RATE_TOLERANCE: Final = 0.01
_CONSTANT_CV: Final = 0.01
_CONSTANT_GAP_S: Final = 0.2e-3
_LATE_SHARE: Final = 0.01  # one late send in a hundred is the send lag's matter


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrivals:
    """Shape of a sequence of arrivals; None where there are too few.

    `cv`: standard deviation of the gaps over their mean. `fano`: variance over mean of the
    counts in equal windows. `lag1`: correlation of each gap with the next.
    """

    cv: float | None
    fano: float | None
    lag1: float | None
    windows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Breach:
    """A statistic of the arrivals outside what an honest process shows."""

    statistic: Literal["cv", "fano", "lag1", "rate", "gap deviation"]
    seen: float
    low: float
    high: float


def arrivals(times_ns: Ints, gap_cv: float = 1.0) -> Arrivals:
    """Return the shape of arrivals in ascending order; `gap_cv` is the CV to expect."""
    gaps_s = np.diff(times_ns) / 1e9
    mean_s = float(gaps_s.mean()) if len(gaps_s) else 0.0
    if len(gaps_s) < 2 or mean_s <= 0:
        return Arrivals(cv=None, fano=None, lag1=None, windows=0)
    around = gaps_s - mean_s
    energy = float((around**2).sum())
    windows = int(len(gaps_s) / (_COUNTS_PER_WINDOW * max(1.0, gap_cv**2)))
    return Arrivals(
        cv=float(gaps_s.std(ddof=1)) / mean_s,
        fano=_fano(times_ns, windows) if windows >= 2 else None,
        lag1=float((around[1:] * around[:-1]).sum()) / energy if energy > 0 else None,
        windows=windows,
    )


def _fano(times_ns: Ints, windows: int) -> float:
    counts = np.histogram(times_ns - times_ns[0], bins=windows)[0]
    return float(counts.var(ddof=1) / counts.mean())


def audit(
    times_ns: Ints, process: Process, *, rate_per_s: float | None, burstiness: float = 1.0
) -> list[Breach]:
    """Return what of the arrivals an honest process of that kind would not show.

    `burstiness` is the shape of a gamma process's gaps (CV 1 / sqrt(burstiness)). Closed
    loops and traces have no process to hold them against, few arrivals no power.
    """
    gaps_s = np.diff(times_ns) / 1e9
    if process in ("closed", "trace") or len(gaps_s) < MIN_GAPS:
        return []
    if process == "constant":
        breaches = _constant_breaches(gaps_s)
        gap_cv = 0.0
    else:
        gap_cv = 1.0 if process == "poisson" else 1 / sqrt(burstiness)
        breaches = _shape_breaches(arrivals(times_ns, gap_cv), len(gaps_s), gap_cv)
    if rate_per_s is not None:
        breaches += _rate_breaches(gaps_s, rate_per_s, gap_cv)
    return breaches


def _shape_breaches(seen: Arrivals, gaps: int, gap_cv: float) -> list[Breach]:
    spread = exp(max(_DEVIATIONS * sqrt((1 + gap_cv**2) / (2 * gaps)), _SHAPE_TOLERANCE))
    limits = [
        Breach(statistic="cv", seen=seen.cv or 0.0, low=gap_cv / spread, high=gap_cv * spread)
    ]
    # Bursty gaps have heavy tails, which two adjacent long ones reach more easily.
    reach = max(_DEVIATIONS * max(1.0, gap_cv**0.5) / sqrt(gaps), _SHAPE_TOLERANCE)
    limits.append(
        Breach(
            statistic="lag1",
            seen=seen.lag1 or 0.0,
            low=-1 / gaps - reach,
            high=-1 / gaps + reach,
        )
    )
    if seen.fano is not None and seen.windows >= _MIN_WINDOWS:
        low, high = _fano_limits(gaps / seen.windows, seen.windows, gap_cv)
        limits.append(Breach(statistic="fano", seen=seen.fano, low=low, high=high))
    return _outside(limits)


def _fano_limits(counts: float, windows: int, gap_cv: float) -> tuple[float, float]:
    expected = gap_cv**2 + (1 - gap_cv**4) / (6 * counts)
    degrees = windows - 1
    low, high = 2 * gammaincinv(degrees / 2, [_TAIL, 1 - _TAIL]) / degrees
    return (
        expected * min(float(low), 1 - _SHAPE_TOLERANCE),
        expected * max(float(high), 1 + _SHAPE_TOLERANCE),
    )


def _constant_breaches(gaps_s: Reals) -> list[Breach]:
    """CV below 1% up to 20/s; above, a deviation of the gap below 0.2 ms."""
    mean_s = float(gaps_s.mean())
    away = np.sort(np.abs(gaps_s - mean_s))
    # A late send stretches the gap before it and shortens the one behind it.
    kept = away[: max(len(away) - 2 * round(_LATE_SHARE * len(away)), 1)]
    deviation_s = float(np.sqrt((kept**2).mean()))
    if deviation_s <= max(_CONSTANT_CV * mean_s, _CONSTANT_GAP_S if mean_s < 1 / 20 else 0.0):
        return []
    if mean_s >= 1 / 20:
        seen = deviation_s / mean_s
        return [Breach(statistic="cv", seen=seen, low=0.0, high=_CONSTANT_CV)]
    high = _CONSTANT_GAP_S
    return [Breach(statistic="gap deviation", seen=deviation_s, low=0.0, high=high)]


def _rate_breaches(gaps_s: Reals, rate_per_s: float, gap_cv: float) -> list[Breach]:
    low, high = rate_per_s / (1 + _RATE_TOLERANCE), rate_per_s * (1 + _RATE_TOLERANCE)
    if gap_cv > 0:
        shape = len(gaps_s) / gap_cv**2
        short, long = gammaincinv(shape, [_TAIL, 1 - _TAIL]) / shape
        low, high = min(low, rate_per_s / float(long)), max(high, rate_per_s / float(short))
    seen = len(gaps_s) / float(gaps_s.sum())
    return _outside([Breach(statistic="rate", seen=seen, low=low, high=high)])


def _outside(limits: list[Breach]) -> list[Breach]:
    return [limit for limit in limits if not limit.low <= limit.seen <= limit.high]
