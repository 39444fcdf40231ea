"""Rank tests of two candidates, shown only where they can reach significance at all.

Exact two-sided probabilities: Wilcoxon's signed ranks for pairs (Biometrics Bulletin 1
(1945) 80-83), the rank sum of Mann and Whitney (Ann. Math. Statist. 18 (1947) 50-60) for
separate samples. Six pairs, or four against four, are the fewest that can reach 5%.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.stats import mannwhitneyu, rankdata

from reports.columns import Reals


@dataclass(frozen=True, slots=True, kw_only=True)
class RankTest:
    """Two-sided probability under "no difference"; None with the reason in `why`."""

    name: str
    p_value: float | None
    why: str | None = None


def signed_rank(
    ours: Sequence[float | None], theirs: Sequence[float | None], alpha: float = 0.05
) -> RankTest:
    """Return Wilcoxon's signed-rank test of the log ratios of pairs; equal pairs drop out."""
    name = "Wilcoxon signed ranks"
    if not _are_known(ours) or not _are_known(theirs):
        return RankTest(name=name, p_value=None, why="a launch without a value")
    differences = np.log(np.array(ours, float)) - np.log(np.array(theirs, float))
    differences = differences[differences != 0]
    least = 2 / 2 ** len(differences)
    if least > alpha:
        return RankTest(name=name, p_value=None, why=_out_of_reach(least, alpha))
    return RankTest(name=name, p_value=_signed_rank_p(differences))


def rank_sum(
    ours: Sequence[float | None], theirs: Sequence[float | None], alpha: float = 0.05
) -> RankTest:
    """Return Mann and Whitney's test of two separate samples."""
    name = "Mann-Whitney rank sum"
    if not _are_known(ours) or not _are_known(theirs):
        return RankTest(name=name, p_value=None, why="a launch without a value")
    least = min(1.0, 2 / comb(len(ours) + len(theirs), len(ours)))
    if least > alpha:
        return RankTest(name=name, p_value=None, why=_out_of_reach(least, alpha))
    if len({*ours, *theirs}) < len(ours) + len(theirs):
        return RankTest(name=name, p_value=None, why="equal values: no exact probability")
    found = mannwhitneyu(np.array(ours, float), np.array(theirs, float), method="exact")
    return RankTest(name=name, p_value=float(found.pvalue))


def _are_known(values: Sequence[float | None]) -> bool:
    return all(value is not None and 0 < value < float("inf") for value in values)


def _out_of_reach(least: float, alpha: float) -> str:
    return f"so few launches reach p = {least:.3f} at best, not {alpha:g}"


def _signed_rank_p(differences: Reals) -> float:
    """Share of all sign patterns whose rank sum is at least as far from the middle."""
    doubled = np.rint(2 * rankdata(np.abs(differences))).astype(int)  # midranks are halves
    patterns = np.ones(1)
    for rank in doubled.tolist():
        longer = np.zeros(len(patterns) + rank)
        longer[: len(patterns)] += patterns / 2
        longer[rank:] += patterns / 2
        patterns = longer
    smaller = min(int(doubled[differences > 0].sum()), int(doubled[differences < 0].sum()))
    return min(1.0, 2 * float(patterns[: smaller + 1].sum()))
