"""Simulated campaigns are what they claim to be."""

from __future__ import annotations

import numpy as np
import pytest

from reports.stats.campaigns import CampaignModel, good_requests, verdict_shares


@pytest.mark.parametrize("shape", ["drift", "episodes"])
@pytest.mark.parametrize(("correlation", "spread"), [(0.0, 0.0), (0.8, 0.0), (0.5, 0.3)])
def test_the_true_goodput_is_the_stated_one(shape, correlation, spread):
    model = CampaignModel(
        goodput=0.95, requests=50, runs=3, correlation=correlation, spread=spread, shape=shape
    )
    good = good_requests(model, 8000, np.random.default_rng(1))

    assert good.shape == (8000, 3, 50)
    assert good.mean() == pytest.approx(0.95, abs=0.002)


@pytest.mark.parametrize("shape", ["drift", "episodes"])
def test_the_spread_is_that_between_launches(shape):
    model = CampaignModel(goodput=0.95, requests=2000, runs=2, spread=0.3, shape=shape)
    launches = good_requests(model, 1500, np.random.default_rng(2)).mean(-1)

    assert launches.std() == pytest.approx(0.0323, abs=0.002)


def test_in_episodes_bad_requests_are_correlated_as_stated():
    model = CampaignModel(goodput=0.9, requests=4000, runs=1, correlation=0.8, shape="episodes")
    good = good_requests(model, 100, np.random.default_rng(3))[:, 0].astype(float)
    correlation = np.corrcoef(good[:, 1:].ravel(), good[:, :-1].ravel())[0, 1]

    assert correlation == pytest.approx(0.8, abs=0.01)


def test_a_drift_of_correlation_0_9_makes_200_requests_worth_about_25():
    model = CampaignModel(goodput=0.95, requests=200, runs=1, correlation=0.9)
    launches = good_requests(model, 6000, np.random.default_rng(4)).mean(-1)
    effect = launches.var() / (0.95 * 0.05 / 200)

    assert effect == pytest.approx(8.0, rel=0.1)


def test_campaigns_are_the_same_for_the_same_seed():
    model = CampaignModel(goodput=0.97, requests=100, runs=3, correlation=0.5)
    first, second = (verdict_shares(model, 300, np.random.default_rng(5)) for _ in range(2))

    assert first == second
