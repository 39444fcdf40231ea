"""What a planned campaign can show: runs, requests, the smallest difference.

Between candidates, each launch of a metric with coefficient of variation CV, paired by
replication, the log ratio of R pairs has the standard error CV sqrt(2 / R), and "better"
needs a mean beyond the margin by t(R - 1) standard errors:
    smallest difference = margin + t(97.5%, R - 1) · CV · sqrt(2 / R)
That is 9.0 and 5.5 points of logarithm with 3 and 5 runs at CV 2% and margin 2%; a
difference of that size is called with a probability of 61% (3 runs) and 56% (5 runs), by
the noncentral t distribution. A stated power asks for more.
"""

from __future__ import annotations

from math import sqrt
from typing import Final

import numpy as np
from scipy.special import nctdtrinc, stdtrit
from scipy.stats import binom, nct  # its tails hold where nctdtr is NaN

from reports.stats.compare import LEVEL, SAME_MACHINE
from reports.stats.quantiles import Percent, bound_ranks
from reports.stats.replications import LEAST_SPREAD

MOST_RUNS: Final = 100
MOST_REQUESTS: Final = 100_000
_CERTAIN: Final = 100.0  # standard errors


def smallest_difference(
    cv: float,
    runs: int,
    *,
    margin: float = SAME_MACHINE,
    level: float = LEVEL,
    power: float | None = None,
) -> float | None:
    """Return the smallest true difference that R paired runs can show, in log points.

    Parameters
    ----------
    cv
        Coefficient of variation of the metric between launches of one candidate.
    power
        Probability of saying so; None: the interval of average width just clears the
        margin. None is returned for fewer than two runs.
    """
    if runs < 2:
        return None
    degrees, reach = runs - 1, _reach(runs, level)
    shift = reach if power is None else float(nctdtrinc(degrees, 1 - power, reach))
    return margin + shift * _error(cv, runs)


def chance_of_better(
    difference: float,
    cv: float,
    runs: int,
    *,
    margin: float = SAME_MACHINE,
    level: float = LEVEL,
) -> float:
    """Return the probability that R paired runs call a true difference (in log points)."""
    if runs < 2:
        return 0.0
    shift = min((difference - margin) / _error(cv, runs), _CERTAIN)
    return float(nct.sf(_reach(runs, level), runs - 1, shift))


def runs_needed(
    difference: float,
    cv: float,
    *,
    margin: float = SAME_MACHINE,
    level: float = LEVEL,
    power: float = 0.8,
) -> int | None:
    """Return the fewest paired runs that call a difference; None: over a hundred, or never."""
    for runs in range(2, MOST_RUNS + 1):
        if chance_of_better(difference, cv, runs, margin=margin, level=level) >= power:
            return runs
    return None


def requests_for_percentile(percent: Percent, level: float = 0.95) -> int:
    """Return the fewest requests with an upper limit for a percentile: 59 for p95."""
    count = 1
    while bound_ranks(count, percent, level)[1] is None:
        count += 1
    return count


def requests_for_share(
    share: float, target: float, *, level: float = 0.95, power: float = 0.8
) -> int | None:
    """Return the fewest independent requests that prove a target, at that true share.

    With a design effect D ask for D times as many. None: more than a hundred thousand, or
    the share is not above the target.
    """
    if share <= target:
        return None
    first = 1
    while first <= MOST_REQUESTS:
        trials = np.arange(first, 2 * first)
        missing = binom.isf(1 - level, trials, target)
        proves = binom.sf(missing, trials, share) >= power
        if proves.any():
            return int(trials[proves.argmax()])
        first *= 2
    return None


def fewest_hits(trials: int, target: float, level: float = 0.95) -> int | None:
    """Return the fewest hits of independent trials that prove a share; None: not even all."""
    hits = int(binom.isf(1 - level, trials, target)) + 1
    return hits if hits <= trials else None


def _error(cv: float, runs: int) -> float:
    return max(cv, LEAST_SPREAD) * sqrt(2 / runs)


def _reach(runs: int, level: float) -> float:
    return float(stdtrit(runs - 1, (1 + level) / 2))
