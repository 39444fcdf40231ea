"""Simulated campaigns near capacity, on which the goodput verdict is tried.

A request is good where a latent normal variable stays below a limit. Its two parts are a
launch's own level, of standard deviation `spread`, and one of standard deviation 1 within
the launch; the limit is set so that the mean share of good requests over all launches is
exactly `goodput`. Within a launch successive requests are correlated in either of two ways:
    drift       the latent variable is a first-order autoregression
    episodes    a request is as good or bad as the one before, with that probability, and
                else a fresh draw: bad ones come in runs of 1 / (1 - correlation) on average
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import Final, Literal

import numpy as np
from scipy.special import ndtr, ndtri

from reports.columns import Flags, Reals
from reports.stats.share_claim import BATCHES, claim_limits

Shape = Literal["drift", "episodes"]

_AT_ONCE: Final = 4_000_000  # requests held in memory


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignModel:
    """What a simulated campaign is drawn from; see the module's text."""

    goodput: float
    requests: int
    runs: int
    correlation: float = 0.0
    spread: float = 0.0
    shape: Shape = "drift"


def verdict_shares(
    model: CampaignModel,
    campaigns: int,
    rng: np.random.Generator,
    target: float = 0.95,
) -> tuple[float, float]:
    """Return the shares of simulated campaigns whose verdict is "holds" and "misses".

    The requests of a launch must be a multiple of its batches.
    """
    part = max(1, _AT_ONCE // (model.requests * model.runs))
    sizes = [min(part, campaigns - first) for first in range(0, campaigns, part)]
    limits = [_limits(good_requests(model, size, rng)) for size in sizes]
    low = np.concatenate([lows for lows, _ in limits])
    high = np.concatenate([highs for _, highs in limits])
    return float((low >= target).mean()), float((high < target).mean())


def good_requests(model: CampaignModel, campaigns: int, rng: np.random.Generator) -> Flags:
    """Return which requests are good: campaigns x launches x requests in scheduled order."""
    return _SHAPES[model.shape](model, campaigns, rng)


def _limits(good: Flags) -> tuple[Reals, Reals]:
    campaigns, runs, requests = good.shape
    batch = requests // BATCHES
    hits = good.reshape(campaigns, runs, BATCHES, batch).sum(-1, dtype=np.float64)
    total = np.full(campaigns, float(runs * requests))
    low, high, _ = claim_limits(hits, np.full_like(hits, batch), total)
    return low, high


def _launch_limits(model: CampaignModel, campaigns: int, rng: np.random.Generator) -> Reals:
    """Return the limit of the latent variable within each launch."""
    limit = float(ndtri(model.goodput)) * sqrt(1 + model.spread**2)
    return limit - model.spread * rng.standard_normal((campaigns, model.runs))


def _drift(model: CampaignModel, campaigns: int, rng: np.random.Generator) -> Flags:
    shape = (model.requests, campaigns, model.runs)
    latent = rng.standard_normal(shape, dtype=np.float32)
    fresh = np.float32(sqrt(1 - model.correlation**2))
    for request in range(1, model.requests):
        latent[request] *= fresh
        latent[request] += np.float32(model.correlation) * latent[request - 1]
    return np.moveaxis(latent < _launch_limits(model, campaigns, rng), 0, -1)


def _episodes(model: CampaignModel, campaigns: int, rng: np.random.Generator) -> Flags:
    shape = (campaigns, model.runs, model.requests)
    shares = ndtr(_launch_limits(model, campaigns, rng))[..., None]
    fresh: Flags = rng.random(shape, dtype=np.float32) < shares
    is_new = rng.random(shape, dtype=np.float32) >= model.correlation
    drawn_at = np.where(is_new, np.arange(model.requests), 0)
    np.maximum.accumulate(drawn_at, axis=-1, out=drawn_at)
    return np.take_along_axis(fresh, drawn_at, axis=-1)


_SHAPES: Final[dict[Shape, Callable[[CampaignModel, int, np.random.Generator], Flags]]] = {
    "drift": _drift,
    "episodes": _episodes,
}
