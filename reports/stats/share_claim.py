"""The claim "at least so much of all requests is good", judged over several launches.

Near capacity requests come good and bad together, and launches differ, so n pooled requests
tell less than n independent ones. How much less is estimated twice from the campaign
itself, with launches as clusters and with batches of consecutive requests as clusters
(Korn and Graubard, Survey Methodology 24 (1998) 193-201); the smallest of both effective
numbers and of the plain count goes into the exact limits of Clopper and Pearson. Of
launches, which are few, the t-quantile is taken at 96% in place of 95%, because their
shares are skewed.

Simulated campaigns whose true share is the target (`reports.stats.campaigns`) set that
figure: at most 7% say "holds", at most 7% "misses", for 3 and 5 launches of 200 or 1,000
requests, with requests correlated from one to the next by up to 0.9 on the latent scale
(design effect about 8 at 200 requests) and launches that spread by up to 0.25 of the
latent standard deviation (about 2.6 points of goodput). Beyond that range it is too sure:
three launches cannot tell of a fourth that is far worse.
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
_FEWER_TAIL: Final = 0.8  # of 1 - level, for the t-quantile over launches


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
        worth = effective_requests(batched_hits, batched_trials, np.array(sum(requests)), level)
        low, high = (float(limit) for limit in share_limits(share * worth, worth, level))
        effective = float(worth)
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


def effective_requests(
    hits: Reals, trials: Reals, requests: Reals, level: float = 0.95
) -> Reals:
    """Return how many independent requests campaigns are worth.

    Parameters
    ----------
    hits, trials
        Of each batch: the last axis holds the batches of a launch, the one before the
        launches of a campaign, those before that campaigns.
    requests
        Of each campaign: the most that it can be worth.
    """
    launches = hits.shape[-2]
    between = design_effect(hits.sum(-1), trials.sum(-1))
    between = between * few_clusters(launches, 1 - _FEWER_TAIL * (1 - level))
    together = (*hits.shape[:-2], launches * hits.shape[-1])
    within = design_effect(hits.reshape(together), trials.reshape(together))
    within = within * few_clusters(together[-1], level)
    total = trials.sum((-2, -1))
    # NaN, where all requests agree, tells nothing about clustering.
    effect = np.nan_to_num(np.maximum(between, within), nan=1.0)
    worth: Reals = np.minimum(total / np.maximum(effect, 1.0), requests)
    return worth


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
