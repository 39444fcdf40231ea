"""A share over launches is proven only as often as the truth allows."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.stats.binomial import share_lower_bound, share_upper_bound
from reports.stats.campaigns import CampaignModel, good_requests, verdict_shares
from reports.stats.share_claim import MIN_REQUESTS, share_claim, weighted_share_claim

NEAR_CAPACITY = [
    ("drift", 0.0, 0.0),
    ("drift", 0.0, 0.3),
    ("drift", 0.8, 0.2),
    ("drift", 0.9, 0.3),
    ("episodes", 0.5, 0.2),
    ("episodes", 0.8, 0.0),
    ("episodes", 0.8, 0.25),
]


def launches_with(bad: int, runs: int = 5, requests: int = 40) -> list[np.ndarray]:
    """Launches whose bad requests lie as evenly as possible."""
    good = np.ones(runs * requests, dtype=bool)
    good[np.linspace(0, len(good) - 1, bad, dtype=int)] = False
    return list(good.reshape(runs, requests))


@pytest.mark.parametrize(
    ("hits", "verdict"),
    [(196, "holds"), (195, "inconclusive"), (185, "inconclusive"), (184, "misses")],
)
def test_without_clusters_the_exact_count_decides(hits, verdict):
    claim = share_claim(launches_with(200 - hits), 0.95)

    assert claim.verdict == verdict
    assert claim.low == pytest.approx(share_lower_bound(hits, 200))
    assert claim.high == pytest.approx(share_upper_bound(hits, 200))


@given(seed=st.integers(0, 10_000), goodput=st.floats(0.5, 1.0), runs=st.integers(2, 5))
def test_the_exact_count_is_the_floor_of_every_bound(seed, goodput, runs):
    good = np.random.default_rng(seed).random((runs, 60)) < goodput
    claim = share_claim(list(good), 0.95)
    hits = int(good.sum())

    assert claim.low <= share_lower_bound(hits, good.size) + 1e-9
    assert claim.high >= share_upper_bound(hits, good.size) - 1e-9
    assert claim.low <= claim.share <= claim.high
    assert claim.effective_requests <= claim.n_requests == good.size


@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize(("shape", "correlation", "spread"), NEAR_CAPACITY)
def test_at_a_true_95_percent_at_most_7_campaigns_in_100_prove_anything(
    shape, correlation, spread, runs
):
    model = CampaignModel(
        goodput=0.95,
        requests=200,
        runs=runs,
        correlation=correlation,
        spread=spread,
        shape=shape,
    )
    holds, misses = verdict_shares(model, 3000, np.random.default_rng([1, runs]))

    assert holds <= 0.07
    assert misses <= 0.07


@pytest.mark.parametrize("runs", [3, 5])
def test_longer_runs_keep_the_same_promise(runs):
    model = CampaignModel(goodput=0.95, requests=1000, runs=runs, correlation=0.9, spread=0.2)
    holds, misses = verdict_shares(model, 1500, np.random.default_rng([2, runs]))

    assert holds <= 0.07
    assert misses <= 0.07


def test_the_pooled_count_alone_would_prove_it_far_too_often():
    model = CampaignModel(goodput=0.95, requests=200, runs=3, correlation=0.8, spread=0.2)
    hits = good_requests(model, 2000, np.random.default_rng(3)).sum((-1, -2))

    assert np.mean([share_lower_bound(count, 600) >= 0.95 for count in hits]) > 0.15


def test_good_and_bad_candidates_are_told_apart():
    def shares(goodput: float) -> tuple[float, float]:
        model = CampaignModel(
            goodput=goodput, requests=500, runs=5, correlation=0.8, spread=0.1
        )
        return verdict_shares(model, 600, np.random.default_rng(4))

    assert shares(0.995)[0] > 0.95
    assert shares(0.85)[1] > 0.95


def test_a_launch_apart_from_the_others_takes_the_proof_away():
    even = [np.arange(200) % 34 > 0] * 3
    apart = [np.ones(200, bool), np.ones(200, bool), np.arange(200) % 11 > 0]

    assert share_claim(even, 0.95).verdict == "holds"
    assert share_claim(apart, 0.95).verdict == "inconclusive"


def test_bad_requests_in_one_stretch_tell_less_than_scattered_ones():
    stretch = [np.arange(200) >= 6] * 3
    scattered = [np.arange(200) % 34 > 0] * 3

    assert share_claim(scattered, 0.95).verdict == "holds"
    assert share_claim(stretch, 0.95).verdict == "inconclusive"


def test_the_verdict_of_one_campaign_is_that_of_the_simulated_ones():
    model = CampaignModel(goodput=0.98, requests=200, runs=3, correlation=0.5, spread=0.1)
    good = good_requests(model, 200, np.random.default_rng(6))
    verdicts = [share_claim(list(launches), 0.95).verdict for launches in good]
    holds, misses = verdict_shares(model, 200, np.random.default_rng(6))

    assert verdicts.count("holds") / 200 == holds > 0
    assert verdicts.count("misses") / 200 == misses


@pytest.mark.parametrize(
    ("launches", "why"),
    [
        ([], "fewer than two launches"),
        ([np.ones(10_000, bool)], "fewer than two launches"),
        ([np.ones(10_000, bool), np.ones(19, bool)], "fewer than 20 requests in a launch"),
        ([np.ones(10_000, bool), np.ones(0, bool)], "fewer than 20 requests in a launch"),
    ],
)
def test_too_little_evidence_gives_no_bound(launches, why):
    claim = share_claim(launches, 0.95)

    assert (claim.verdict, claim.why) == ("inconclusive", why)
    assert (claim.low, claim.high, claim.effective_requests) == (None, None, None)


def test_58_good_requests_prove_nothing_and_60_do():
    assert share_claim([np.ones(29, bool)] * 2, 0.95).verdict == "inconclusive"
    assert share_claim([np.ones(30, bool)] * 2, 0.95).verdict == "holds"
    assert MIN_REQUESTS == 20


def test_a_claim_carries_its_level_and_its_method():
    claim = share_claim(launches_with(4), 0.95)

    assert (claim.level, claim.n_runs, claim.n_requests) == (0.95, 5, 200)
    assert "exact count" in claim.method


@given(seed=st.integers(0, 1000))
def test_requests_of_one_trial_each_are_plain_requests(seed):
    good = np.random.default_rng(seed).random((3, 80)) < 0.9
    plain = share_claim(list(good), 0.9)
    weighted = weighted_share_claim(list(good.astype(float)), list(np.ones((3, 80))), 0.9)

    assert plain == weighted


def test_the_gaps_of_a_request_never_count_for_more_than_the_request():
    gaps = [np.full(30, 100.0)] * 2
    claim = weighted_share_claim(gaps, gaps, 0.95)

    assert claim.effective_requests == 60
    assert claim.low == pytest.approx(0.05 ** (1 / 60))


def test_a_launch_without_any_gap_gives_no_bound():
    claim = weighted_share_claim([np.ones(30), np.zeros(30)], [np.ones(30), np.zeros(30)], 0.95)

    assert (claim.verdict, claim.why) == ("inconclusive", "a launch without a value")
