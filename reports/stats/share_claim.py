"""The claim "at least so much of all requests is good", judged over several launches.

Near capacity requests come good and bad together, and launches differ, so n pooled requests
tell less than n independent ones. How much less is estimated twice from the campaign
itself, with launches as clusters and with batches of consecutive requests as clusters
(Korn and Graubard, Survey Methodology 24 (1998) 193-201); the smallest of both effective
numbers and of the plain count goes into the exact limits of Clopper and Pearson. Of
launches, which are few, the t-quantile is taken at 96.25% in place of 95%, because their
shares are skewed.

Simulated campaigns whose true share is the target (`reports.stats.campaigns`) set that
figure: at most 7% say "holds" and at most 7% "misses", for 3 and 5 launches of 200 or
1,000 requests, where
    the load drifts     latent correlation of successive requests up to 0.9
    episodes come       correlation of good and bad up to 0.8 at 200 requests (runs of five
                        bad ones on average), 0.9 at 1,000 (runs of ten)
    launches differ     by up to 0.3 latent standard deviations (3.2 points of goodput)
Beyond that range it is too sure: three launches cannot tell of a fourth that is far worse,
nor 200 requests of an episode that comes once in a thousand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

import numpy as np

from reports.columns import Flags, Reals
from reports.stats.binomial import share_limits
from reports.stats.clusters import design_effect, few_clusters

ClaimVerdict = Literal["holds", "misses", "inconclusive"]

METHOD: Final = "exact count at the effective number of requests, clustered by launch and batch"
BATCHES: Final = 10  # of consecutive requests, in each launch
MIN_REQUESTS: Final = 2 * BATCHES  # per launch
_FEWER_TAIL: Final = 0.75  # of 1 - level, for the t-quantile over launches


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareClaim:
    """A share over launches, its one-sided limits each at `level` alone, and the verdict.

    `effective_requests`: how many independent requests the evidence is worth. Limits are
    None where there is no evidence of the spread between launches; `why` says which.
    """

    verdict: ClaimVerdict
    target: float
    share: float | None
    low: float | None
    high: float | None
    level: float
    n_runs: int
    n_requests: int
    effective_requests: float | None
    method: str = METHOD
    why: str | None = None


def share_claim(launches: Sequence[Flags], target: float, level: float = 0.95) -> ShareClaim:
    """Return the claim that the share of good requests is at least `target`.

    Parameters
    ----------
    launches
        Of each launch, whether each measured request was good, in scheduled order.
    target, level
        The share to prove; the level of each one-sided limit.
    """
    hits = [np.asarray(flags, dtype=np.float64) for flags in launches]
    return weighted_share_claim(hits, [np.ones_like(good) for good in hits], target, level)


def weighted_share_claim(
    hits: Sequence[Reals], trials: Sequence[Reals], target: float, level: float = 0.95
) -> ShareClaim:
    """Return the same claim where each request holds several trials, such as its gaps.

    `hits` and `trials` have one array per launch with one value per request. Trials of one
    request never count for more than one.
    """
    requests = [len(of_launch) for of_launch in trials]
    total = float(sum(of_launch.sum() for of_launch in trials))
    share = float(sum(of_launch.sum() for of_launch in hits)) / total if total else None
    why = _missing(requests, [float(of_launch.sum()) for of_launch in trials])
    low = high = effective = None
    if why is None and share is not None:
        batched_hits = np.array([_batches(of_launch) for of_launch in hits])
        batched_trials = np.array([_batches(of_launch) for of_launch in trials])
        limits = claim_limits(batched_hits, batched_trials, np.array(sum(requests)), level)
        low, high, effective = (float(limit) for limit in limits)
    return ShareClaim(
        verdict=_verdict(low, high, target),
        target=target,
        share=share,
        low=low,
        high=high,
        level=level,
        n_runs=len(requests),
        n_requests=sum(requests),
        effective_requests=effective,
        why=why,
    )


def claim_limits(
    hits: Reals, trials: Reals, requests: Reals, level: float = 0.95
) -> tuple[Reals, Reals, Reals]:
    """Return both one-sided limits of the share and the effective requests behind them.

    Parameters
    ----------
    hits, trials
        Of each batch: the last axis holds the batches of a launch, the one before the
        launches of a campaign, those before that campaigns.
    requests
        Of each campaign: the most independent requests that it can be worth.
    """
    total = trials.sum((-2, -1))
    worth = np.minimum(total / _effect(hits, trials, level), requests)
    low, high = share_limits(hits.sum((-2, -1)) / total * worth, worth, level)
    return low, high, worth


def _effect(hits: Reals, trials: Reals, level: float) -> Reals:
    """Return the larger design effect of both clusterings, at least 1."""
    launches = hits.shape[-2]
    between = design_effect(hits.sum(-1), trials.sum(-1))
    between = between * few_clusters(launches, 1 - _FEWER_TAIL * (1 - level))
    together = (*hits.shape[:-2], launches * hits.shape[-1])
    within = design_effect(hits.reshape(together), trials.reshape(together))
    within = within * few_clusters(together[-1], level)
    # NaN, where all requests agree, tells nothing about clustering.
    effect: Reals = np.nan_to_num(np.maximum(np.maximum(between, within), 1.0), nan=1.0)
    return effect


def _missing(requests: Sequence[int], trials: Sequence[float]) -> str | None:
    if len(requests) < 2:
        return "fewer than two launches"
    if min(requests) < MIN_REQUESTS:
        return f"fewer than {MIN_REQUESTS} requests in a launch"
    if min(trials) <= 0:
        return "a launch without a value"
    return None


def _batches(of_launch: Reals) -> list[float]:
    return [float(batch.sum()) for batch in np.array_split(of_launch, BATCHES)]


def _verdict(low: float | None, high: float | None, target: float) -> ClaimVerdict:
    if low is not None and low >= target:
        return "holds"
    if high is not None and high < target:
        return "misses"
    return "inconclusive"
