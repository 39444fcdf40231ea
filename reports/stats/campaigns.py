"""Simulated campaigns near capacity, on which the goodput verdict is tried.

A request is good where a latent normal variable stays below a limit. The variable is the
sum of a launch's own level (standard deviation `spread`) and of a first-order
autoregression within the launch (standard deviation 1, `correlation` from one request to
the next); the limit is set so that the mean share of good requests over all launches is
exactly `goodput`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import numpy as np
from scipy.special import ndtri

from reports.columns import Flags, Reals
from reports.stats.binomial import share_limits
from reports.stats.share_claim import BATCHES, effective_requests


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignModel:
    """What a simulated campaign is drawn from; see the module's text."""

    goodput: float
    requests: int
    runs: int
    correlation: float = 0.0
    spread: float = 0.0


def good_requests(model: CampaignModel, campaigns: int, rng: np.random.Generator) -> Flags:
    """Return which requests are good: campaigns x launches x requests in scheduled order."""
    shape = (model.requests, campaigns, model.runs)
    latent = rng.standard_normal(shape, dtype=np.float32)
    fresh = np.float32(sqrt(1 - model.correlation**2))
    for request in range(1, model.requests):
        latent[request] *= fresh
        latent[request] += np.float32(model.correlation) * latent[request - 1]
    launches = rng.standard_normal(shape[1:]) * model.spread
    limit = float(ndtri(model.goodput)) * sqrt(1 + model.spread**2)
    return np.moveaxis(latent < (limit - launches), 0, -1)


def verdict_shares(
    model: CampaignModel,
    campaigns: int,
    rng: np.random.Generator,
    target: float = 0.95,
) -> tuple[float, float]:
    """Return the shares of simulated campaigns whose verdict is "holds" and "misses"."""
    low, high = claim_limits(good_requests(model, campaigns, rng))
    return float((low >= target).mean()), float((high < target).mean())


def claim_limits(good: Flags) -> tuple[Reals, Reals]:
    """Return the one-sided 95% limits of the goodput of each campaign.

    `good` is campaigns x launches x requests, the requests a multiple of the batches. The
    limits are those of `reports.stats.share_claim`, for many campaigns at once.
    """
    campaigns, runs, requests = good.shape
    batch = requests // BATCHES
    hits = good.reshape(campaigns, runs, BATCHES, batch).sum(-1, dtype=np.float64)
    total = np.full(campaigns, float(runs * requests))
    worth = effective_requests(hits, np.full_like(hits, batch), total)
    return share_limits(hits.sum((-2, -1)) / total * worth, worth)
