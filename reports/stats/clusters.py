"""Trials that come in clusters count for fewer than they are.

Linearised variance of a ratio over clusters and the effective number of trials from it
(Korn and Graubard, Survey Methodology 24 (1998) 193-201).
"""

from __future__ import annotations

from scipy.special import ndtri, stdtrit

from reports.columns import Reals


def effective_trials(hits: Reals, trials: Reals, independent: int) -> int:
    """Return how many independent trials a clustered share is worth.

    Parameters
    ----------
    hits, trials
        Of each cluster.
    independent
        The answer where all trials agree, so that nothing can be told about clustering.
    """
    total = float(trials.sum())
    clusters = len(trials)
    if total <= 0 or clusters < 2:
        return 0
    share = float(hits.sum()) / total
    if not 0 < share < 1:
        return min(independent, int(total))
    residuals = hits - share * trials
    variance = clusters / (clusters - 1) * float((residuals**2).sum()) / total**2
    design_effect = max(variance * total / (share * (1 - share)), 1.0)
    # A variance from few clusters is itself uncertain: the t-quantile in place of the normal.
    small = float((ndtri(0.95) / stdtrit(clusters - 1, 0.95)) ** 2)
    return int(total / design_effect * small)
