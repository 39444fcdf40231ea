"""Trials that come in clusters count for fewer than they are.

Linearised variance of a ratio over clusters and the effective number of trials from it
(Korn and Graubard, Survey Methodology 24 (1998) 193-201).
"""

from __future__ import annotations

import numpy as np
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
    effect = float(design_effect(hits, trials))
    if np.isnan(effect):
        return min(independent, int(total))
    return int(total / max(effect, 1.0) / few_clusters(clusters))


def design_effect(hits: Reals, trials: Reals) -> Reals:
    """Return the variance of clustered shares over that of as many independent trials.

    Clusters lie along the last axis (at least two). NaN where all trials agree.
    """
    total = trials.sum(-1)
    share = hits.sum(-1) / total
    clusters = hits.shape[-1]
    residuals = hits - share[..., None] * trials
    variance = clusters / (clusters - 1) * (residuals**2).sum(-1) / total**2
    spread = share * (1 - share)
    effect: Reals = np.divide(
        variance * total, spread, out=np.full_like(spread, np.nan), where=spread > 0
    )
    return effect


def few_clusters(clusters: int, level: float = 0.95) -> float:
    """Return the factor on a variance from few clusters, which is itself uncertain.

    The t-quantile at `level` in place of the normal one at 95%, squared.
    """
    return float((stdtrit(clusters - 1, level) / ndtri(0.95)) ** 2)
