"""A percentile holds its limit where two looks at the launches say so."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from reports.stats.campaigns import CampaignModel
from reports.stats.percentile_claim import PercentileClaim, percentile_claim
from reports.stats.quantiles import percentiles
from reports.stats.share_claim import share_claim


def claim(launches: list[np.ndarray], limit: float) -> PercentileClaim:
    """The claim p95 <= limit; infinite latencies are failures."""
    seen = []
    for latencies in launches:
        finite = latencies[np.isfinite(latencies)]
        (p95,) = percentiles(finite, [95.0], len(latencies) - len(finite))
        seen.append(inf if p95 is None else p95)
    within = share_claim([latencies <= limit for latencies in launches], 0.95)
    return percentile_claim(seen, within, limit)


def latencies(rng: np.random.Generator, *launches: float) -> list[np.ndarray]:
    return [scale * np.exp(0.3 * rng.standard_normal(200)) for scale in launches]


def test_a_percentile_well_inside_holds_and_well_outside_misses():
    launches = latencies(np.random.default_rng(1), 100, 101, 99)

    inside, outside = claim(launches, 300.0), claim(launches, 110.0)

    assert (inside.verdict, inside.why) == ("holds", None)
    assert inside.low < inside.value < inside.high <= 300
    assert (outside.verdict, outside.why) == ("misses", None)
    assert outside.low > 110


def test_a_percentile_at_its_limit_is_inconclusive():
    found = claim(latencies(np.random.default_rng(2), 100, 101, 99), 163.0)

    assert found.verdict == "inconclusive"
    assert found.why == "the count of requests within the limit proves neither"


def test_launches_too_far_apart_take_back_what_the_count_proves():
    within = share_claim([np.ones(200, bool)] * 3, 0.95)
    found = percentile_claim([100.0, 900.0, 300.0], within, 1000.0)

    assert (within.verdict, found.verdict) == ("holds", "inconclusive")
    assert found.why == "the percentile's interval over launches spans the limit"


def test_more_than_5_percent_of_failures_in_every_launch_misses_any_limit():
    launches = latencies(np.random.default_rng(3), 100, 101, 99)
    for each in launches:
        each[::5] = inf
    found = claim(launches, 1e9)

    assert (found.verdict, found.value) == ("misses", inf)
    assert (found.low, found.high) == (None, None)


def test_a_percentile_among_the_failures_of_one_launch_never_holds():
    within = share_claim([np.ones(200, bool)] * 3, 0.95)
    found = percentile_claim([100.0, inf, 101.0], within, 1000.0)

    assert found.verdict == "inconclusive"
    assert found.why == "a launch whose value lies beyond the failures"


def test_one_launch_proves_nothing():
    found = claim(latencies(np.random.default_rng(4), 100), 1000.0)

    assert (found.verdict, found.why) == ("inconclusive", "fewer than two launches")


@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize(("correlation", "spread"), [(0.0, 0.0), (0.8, 0.2)])
def test_at_a_true_p95_equal_to_the_limit_at_most_7_campaigns_in_100_prove_anything(
    correlation, spread, runs
):
    model = CampaignModel(
        goodput=0.95, requests=200, runs=runs, correlation=correlation, spread=spread
    )
    rng = np.random.default_rng([5, runs])
    verdicts = [claim(list(each), 1.0).verdict for each in _latencies(model, 500, rng)]

    assert verdicts.count("holds") <= 0.07 * 500
    assert verdicts.count("misses") <= 0.07 * 500


def _latencies(model: CampaignModel, campaigns: int, rng: np.random.Generator) -> np.ndarray:
    """Lognormal latencies whose p95 over all launches is 1."""
    latent = rng.standard_normal((campaigns, model.runs, model.requests))
    for request in range(1, model.requests):
        latent[..., request] *= (1 - model.correlation**2) ** 0.5
        latent[..., request] += model.correlation * latent[..., request - 1]
    latent += model.spread * rng.standard_normal((campaigns, model.runs, 1))
    return np.exp(0.5 * (latent - 1.6448536 * (1 + model.spread**2) ** 0.5))
