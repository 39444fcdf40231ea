"""How much worse one is than the other on the same questions.

A loss is what the reference scored minus what the candidate did, question by question: from
-1 to 1. Questions are the unit, so whatever makes one hard for both cancels.

A one-sided limit is the wider of two. Student's t over the differences is right where many
questions differ. Where few do, it is far too sure (no difference in ten questions would be
a proof), so the exact limit of Clopper and Pearson for what was lost, less what was seen to
be gained, stands beside it; it takes part-scores as part-counts, which makes it wider still.
The tests simulate it: at a loss of exactly the margin, at most 7% of comparisons say that
it is within, for 100 to 2,000 questions, of which 1% to 30% differ.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Final, Literal

import numpy as np
from scipy.special import stdtrit
from scipy.stats import binomtest

from reports.columns import Reals
from reports.stats.binomial import share_upper_bound

LossVerdict = Literal["holds", "misses", "inconclusive"]

LEVEL: Final = 0.95
POWER: Final = 0.8
METHOD: Final = "paired by question: the wider of Student's t and Clopper-Pearson"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loss:
    """The mean difference with its one-sided limits, each at its level alone; shares.

    ``low`` and ``high`` are None for fewer than two questions. ``detectable`` is about the
    smallest true difference whose lower limit is above nothing with a power of 80%.
    """

    questions: int
    mean: float | None
    low: float | None
    high: float | None
    detectable: float | None

    def verdict(self, limit: float) -> LossVerdict:
        """Whether the true difference is within the limit: holds, misses or inconclusive."""
        if self.high is not None and self.high <= limit:
            return "holds"
        return "misses" if self.low is not None and self.low > limit else "inconclusive"


def loss(differences: Sequence[float], *, miss_level: float = LEVEL) -> Loss:
    """Return the mean of differences from -1 to 1 with its limits.

    ``miss_level`` is that of the lower limit, on which a miss rests: higher where several
    comparisons may each find one.
    """
    found = np.asarray(differences, dtype=np.float64)
    count = len(found)
    if count < 2:
        return Loss(
            questions=count,
            mean=float(found[0]) if count else None,
            low=None,
            high=None,
            detectable=None,
        )
    mean, error = float(found.mean()), float(found.std(ddof=1)) / sqrt(count)
    lost, gained = float(found[found > 0].sum()), float(-found[found < 0].sum())
    most_lost = share_upper_bound(lost, count, LEVEL) - gained / count
    most_gained = share_upper_bound(gained, count, miss_level) - lost / count
    low = min(mean - _t(count, miss_level) * error, -most_gained)
    high = max(mean + _t(count, LEVEL) * error, most_lost)
    noise = float(np.square(found).mean()) - max(low, -high, 0.0)  # what is proven is none
    return Loss(
        questions=count,
        mean=mean,
        low=low,
        high=high,
        detectable=_detectable(count, max(noise, 0.0)),
    )


def excess(values: Sequence[float], *, miss_level: float = LEVEL) -> Loss:
    """Return the mean of differences without a scale, such as nats, with its limits.

    Few large ones may hold most of the mean, and Student's t is then too sure by as much as
    they happen to be missing. Each limit is therefore the wider of two: of the values, and of
    them with one more as far out as the farthest on that side. What befalls none of the
    values is in no limit. Values that never differ show no spread, and so nothing detectable.
    """
    found = np.asarray(values, dtype=np.float64)
    count = len(found)
    if count < 2:
        return loss(values)
    error = float(found.std(ddof=1)) / sqrt(count)
    return Loss(
        questions=count,
        mean=float(found.mean()),
        low=-max(_upper(-found, miss_level), _upper(_with_one_more(-found), miss_level)),
        high=max(_upper(found, LEVEL), _upper(_with_one_more(found), LEVEL)),
        detectable=(_t(count, LEVEL) + _t(count, POWER)) * error or None,
    )


def needed(margin: float, differing: float) -> int:
    """Return about how many questions prove a true loss of nothing to be within the margin.

    With a power of 80%, where so many of them differ, as often to one side as to the other:
    what noise takes, beside what equal answers take.
    """
    either = _Z_SUM**2 * differing / margin**2
    none_lost = np.log(1 - LEVEL) / np.log1p(-margin)
    return int(np.ceil(either + none_lost))


def mcnemar(differences: Sequence[float]) -> float | None:
    """Return the exact two-sided p value of "as many lost as gained"; None without any."""
    lost = sum(1 for each in differences if each > 0)
    gained = sum(1 for each in differences if each < 0)
    if lost + gained == 0:
        return None
    return float(binomtest(lost, lost + gained, 0.5).pvalue)


_Z_SUM: Final = 1.6448536 + 0.8416212


def _t(count: int, level: float) -> float:
    return float(stdtrit(count - 1, level))


def _upper(values: Reals, level: float) -> float:
    """Student's upper limit of the mean."""
    count = len(values)
    return float(values.mean()) + _t(count, level) * float(values.std(ddof=1)) / sqrt(count)


def _with_one_more(values: Reals) -> Reals:
    return np.append(values, max(float(values.max()), 0.0))


def _detectable(count: int, differing: float) -> float:
    """A loss that comes on top of what differs anyway, and brings a variance of its own."""
    unit = (_t(count, LEVEL) + _t(count, POWER)) ** 2 / count
    return min(1.0, (unit + sqrt(unit**2 + 4 * unit * differing)) / 2)
