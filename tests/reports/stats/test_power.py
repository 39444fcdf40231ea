"""A plan says what it will be able to see."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.stats.binomial import share_lower_bound
from reports.stats.compare import ACROSS_MACHINES, SAME_MACHINE, paired
from reports.stats.power import (
    chance_of_better,
    fewest_hits,
    requests_for_percentile,
    requests_for_share,
    runs_needed,
    smallest_difference,
)


@pytest.mark.parametrize(
    ("runs", "margin", "points"),
    [
        (3, SAME_MACHINE, 9.0),
        (5, SAME_MACHINE, 5.5),
        (3, ACROSS_MACHINES, 12.0),
        (5, ACROSS_MACHINES, 8.5),
    ],
)
def test_the_smallest_difference_at_a_variation_of_2_percent(runs, margin, points):
    assert round(100 * smallest_difference(0.02, runs, margin=margin), 1) == points


@pytest.mark.parametrize(("runs", "chance"), [(3, 0.615), (5, 0.557)])
def test_that_difference_is_called_by_61_and_56_campaigns_in_100(runs, chance):
    difference = smallest_difference(0.02, runs)

    assert chance_of_better(difference, 0.02, runs) == pytest.approx(chance, abs=5e-4)


@pytest.mark.parametrize(("difference", "runs"), [(0.09, 3), (0.055, 5), (0.03, 5)])
def test_the_chance_is_what_simulated_campaigns_see(difference, runs):
    rng = np.random.default_rng([7, runs])
    ours, theirs = np.exp(0.02 * rng.standard_normal((2, 2500, runs)))
    words = [
        paired(list(one), list(other), better="lower").word
        for one, other in zip(ours * np.exp(-difference), theirs, strict=True)
    ]

    chance = chance_of_better(difference, 0.02, runs)
    assert words.count("better") / len(words) == pytest.approx(chance, abs=0.03)


@given(
    cv=st.floats(0.005, 0.3), runs=st.integers(2, 10), power=st.sampled_from([0.5, 0.8, 0.95])
)
def test_a_difference_for_a_stated_power_is_seen_with_that_power(cv, runs, power):
    difference = smallest_difference(cv, runs, power=power)

    assert chance_of_better(difference, cv, runs) == pytest.approx(power, abs=1e-6)


def test_one_run_shows_no_difference_however_large():
    assert smallest_difference(0.02, 1) is None
    assert chance_of_better(10.0, 0.02, 1) == 0.0


@given(difference=st.floats(-0.5, 2.0), cv=st.floats(0.002, 0.5), runs=st.integers(2, 20))
def test_the_chance_is_the_integral_over_all_spreads_that_the_runs_may_show(
    difference, cv, runs
):
    shift = (difference - SAME_MACHINE) / (cv * (2 / runs) ** 0.5)
    reach = stats.t.ppf(0.975, runs - 1)
    chance = chance_of_better(difference, cv, runs)

    assert 0 <= chance <= 1
    assert chance == pytest.approx(_chance(reach, runs - 1, shift), abs=1e-3)


def _chance(reach: float, degrees: int, shift: float) -> float:
    """P(Z + shift > reach * sqrt(chi2 / degrees)) by integrating over the spread."""
    places = (np.arange(20_000) + 0.5) / 20_000
    spreads = np.sqrt(stats.chi2.ppf(places, degrees) / degrees)
    return float(stats.norm.sf(reach * spreads - shift).mean())


def test_launches_said_not_to_vary_at_all_still_vary_by_a_thousandth():
    assert smallest_difference(0.0, 3) == smallest_difference(0.001, 3) > SAME_MACHINE
    assert chance_of_better(1.0, 0.0, 3) == pytest.approx(1)


def test_the_fewest_runs_are_just_enough():
    runs = runs_needed(0.05, 0.02, power=0.8)

    assert runs == 10
    assert chance_of_better(0.05, 0.02, runs) >= 0.8 > chance_of_better(0.05, 0.02, runs - 1)


def test_a_difference_within_the_margin_is_never_shown():
    assert runs_needed(SAME_MACHINE, 0.02) is None


@pytest.mark.parametrize(("percent", "requests"), [(50, 5), (90, 29), (95, 59), (99, 299)])
def test_fewest_requests_with_an_upper_limit_of_a_percentile(percent, requests):
    assert requests_for_percentile(percent) == requests


def test_of_200_requests_196_must_be_good_and_of_58_not_even_all_suffice():
    assert fewest_hits(200, 0.95) == 196
    assert fewest_hits(59, 0.95) == 59
    assert fewest_hits(58, 0.95) is None


@given(trials=st.integers(59, 3000))
def test_the_fewest_hits_prove_the_target_and_one_less_does_not(trials):
    hits = fewest_hits(trials, 0.95)

    assert share_lower_bound(hits, trials) >= 0.95 > share_lower_bound(hits - 1, trials)


def test_requests_for_a_share_prove_it_as_often_as_asked():
    requests = requests_for_share(0.98, 0.95)
    hits = np.random.default_rng(8).binomial(requests, 0.98, 4000)

    assert requests == 234
    assert np.mean(hits >= fewest_hits(requests, 0.95)) == pytest.approx(0.8, abs=0.025)


def test_a_share_at_its_target_is_never_proven():
    assert requests_for_share(0.95, 0.95) is None
    assert requests_for_share(0.9501, 0.95) is None
