"""The claim "this percentile is at most so much", judged over several launches.

p95 <= limit says the same as "at least 95% of the requests are within the limit", which
holds without any assumption on the latency's distribution and counts failures as beyond
every limit. The percentile's own interval over launches (t on logarithms) is shown in its
unit. Both looks at the same launches must agree, else the claim is inconclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reports.stats.quantiles import Bounds
from reports.stats.replications import METHOD, one_sided, replicated
from reports.stats.share_claim import ClaimVerdict, ShareClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class PercentileClaim:
    """A percentile over launches against its limit, in one unit.

    `value` is the median over launches, `low` and `high` are one-sided limits, each at
    `level` alone; None or infinite beyond the failures. `within` is the claim on the share
    of requests within the limit.
    """

    verdict: ClaimVerdict
    limit: float
    value: float | None
    low: float | None
    high: float | None
    level: float
    n_runs: int
    within: ShareClaim
    method: str = METHOD
    why: str | None = None


def percentile_claim(
    percentiles: Sequence[float | None], within: ShareClaim, limit: float
) -> PercentileClaim:
    """Return the claim that a percentile stays at or below `limit`.

    Parameters
    ----------
    percentiles
        Of each launch, with failures as infinity.
    within
        The claim that at least that percentage of requests (or gaps) is within the limit.
    """
    launches = replicated(percentiles)
    bounds = one_sided(percentiles, within.level)
    verdict = _verdict(within.verdict, bounds, limit)
    return PercentileClaim(
        verdict=verdict,
        limit=limit,
        value=launches.median,
        low=bounds.low,
        high=bounds.high,
        level=within.level,
        n_runs=len(percentiles),
        within=within,
        why=None if verdict != "inconclusive" else _why(within, bounds, launches.why),
    )


def _verdict(within: ClaimVerdict, bounds: Bounds, limit: float) -> ClaimVerdict:
    if within == "holds" and bounds.high is not None and bounds.high <= limit:
        return "holds"
    # A percentile among the failures has no interval; the count of requests then decides.
    if within == "misses" and (bounds.low is None or bounds.low > limit):
        return "misses"
    return "inconclusive"


def _why(within: ShareClaim, bounds: Bounds, no_interval: str | None) -> str:
    if within.why is not None:
        return within.why
    if within.verdict == "inconclusive":
        return "the count of requests within the limit proves neither"
    if bounds.high is None:
        return no_interval or "no interval over launches"
    return "the percentile's interval over launches spans the limit"
