"""Two candidates on one metric: whether one is better by more than a margin that matters.

The logarithm of the ratio candidate / reference is estimated from launches: from the
differences within a replication where both candidates ran in it (Student's t), else from
two separate samples (Welch, Biometrika 34 (1947) 28-35). "Better" needs the whole two-sided
interval beyond the margin; the p value tests the same, |log ratio| <= margin, so that
p < 1 - level and the word agree. Margins and differences are in natural-log points: 0.02
is a ratio of 1.0202 or 0.9802.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, inf, sqrt
from typing import Final, Literal

from scipy.special import stdtr

from reports.stats.ranks import RankTest, rank_sum, signed_rank
from reports.stats.replications import LogMean, log_mean, logarithms, mean_of

Word = Literal["better", "worse", "no difference shown"]
Direction = Literal["lower", "higher"]

SAME_MACHINE: Final = 0.02
ACROSS_MACHINES: Final = 0.05
LEVEL: Final = 0.95
PAIRED: Final = "t on the log ratio, paired by replication"
UNPAIRED: Final = "Welch's t on the log ratio, unpaired"


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Candidate over reference, with two-sided limits of the ratio at `level`.

    `p_value` is that of "they differ by no more than the margin"; `p_adjusted` the same
    within a family of comparisons (Holm), None outside one. `why` says why there is no
    interval; then the word is "no difference shown".
    """

    word: Word
    ratio: float | None
    low: float | None
    high: float | None
    level: float
    method: str
    margin: float
    p_value: float | None
    p_adjusted: float | None = None
    n_runs: tuple[int, int]
    ranks: RankTest
    why: str | None = None


def paired(
    candidate: Sequence[float | None],
    reference: Sequence[float | None],
    *,
    better: Direction,
    margin: float = SAME_MACHINE,
    level: float = LEVEL,
) -> Comparison:
    """Return the comparison of two candidates that shared their replications.

    Parameters
    ----------
    candidate, reference
        One value per replication, in the same order of replications. None or infinity in
        one of them leaves no interval: a launch that failed is never left out.
    better
        Whether lower (latency, cost) or higher (throughput, goodput) values are.
    """
    if len(candidate) != len(reference):
        raise ValueError(f"{len(candidate)} replications against {len(reference)}: no pairs")
    found = _paired_mean(candidate, reference)
    return _comparison(
        found,
        runs=(len(candidate), len(reference)),
        ranks=signed_rank(candidate, reference, alpha=1 - level),
        method=PAIRED,
        better=better,
        margin=margin,
        level=level,
    )


def unpaired(
    candidate: Sequence[float | None],
    reference: Sequence[float | None],
    *,
    better: Direction,
    margin: float = ACROSS_MACHINES,
    level: float = LEVEL,
) -> Comparison:
    """Return the comparison of two candidates whose launches have no common replications."""
    return _comparison(
        _welch(log_mean(candidate), log_mean(reference)),
        runs=(len(candidate), len(reference)),
        ranks=rank_sum(candidate, reference, alpha=1 - level),
        method=UNPAIRED,
        better=better,
        margin=margin,
        level=level,
    )


def holm(p_values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Return p values adjusted for their number (Holm, Scand. J. Statist. 6 (1979) 65-70).

    None, a comparison that could not be made, stays None and counts in the family.
    """
    order = sorted(range(len(p_values)), key=lambda place: _or_one(p_values[place]))
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * _or_one(p_values[place])))
        adjusted[place] = None if p_values[place] is None else largest
    return tuple(adjusted)


def judged_together(family: Mapping[str, Comparison]) -> dict[str, Comparison]:
    """Return a family's comparisons, "better" and "worse" only where Holm leaves them so."""
    adjusted = holm([comparison.p_value for comparison in family.values()])
    return {
        name: replace(
            comparison,
            p_adjusted=p_value,
            word=comparison.word
            if p_value is not None and p_value < 1 - comparison.level
            else "no difference shown",
        )
        for (name, comparison), p_value in zip(family.items(), adjusted, strict=True)
    }


def _or_one(p_value: float | None) -> float:
    return 1.0 if p_value is None else p_value


def _paired_mean(
    candidate: Sequence[float | None], reference: Sequence[float | None]
) -> LogMean | str:
    ours, theirs = logarithms(candidate), logarithms(reference)
    if isinstance(ours, str):
        return ours
    return theirs if isinstance(theirs, str) else mean_of(ours - theirs)


def _welch(ours: LogMean | str, theirs: LogMean | str) -> LogMean | str:
    if isinstance(ours, str):
        return ours
    if isinstance(theirs, str):
        return theirs
    variance = ours.error**2 + theirs.error**2
    degrees = variance**2 / (ours.error**4 / ours.degrees + theirs.error**4 / theirs.degrees)
    return LogMean(mean=ours.mean - theirs.mean, error=sqrt(variance), degrees=degrees)


def _comparison(
    found: LogMean | str,
    *,
    runs: tuple[int, int],
    ranks: RankTest,
    method: str,
    better: Direction,
    margin: float,
    level: float,
) -> Comparison:
    unknown = Comparison(
        word="no difference shown",
        ratio=None,
        low=None,
        high=None,
        level=level,
        method=method,
        margin=margin,
        p_value=None,
        n_runs=runs,
        ranks=ranks,
    )
    if isinstance(found, str):
        return replace(unknown, why=found)
    low, high = found.limits(level)
    return replace(
        unknown,
        word=_word(low, high, margin, better),
        ratio=_exp(found.mean),
        low=_exp(low),
        high=_exp(high),
        p_value=_p_value(found, margin),
    )


def _word(low: float, high: float, margin: float, better: Direction) -> Word:
    if -margin <= high and low <= margin:
        return "no difference shown"
    is_lower = high < -margin
    return "better" if is_lower == (better == "lower") else "worse"


def _p_value(found: LogMean, margin: float) -> float:
    """Twice the tail beyond the margin, as the two-sided interval has it."""
    beyond = (abs(found.mean) - margin) / found.error
    return min(1.0, 2 * float(stdtr(found.degrees, -beyond)))


def _exp(logarithm: float) -> float:
    return exp(logarithm) if logarithm < 709 else inf
