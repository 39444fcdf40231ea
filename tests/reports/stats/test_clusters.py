"""Trials that come together count for as many as they tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from reports.stats.clusters import design_effect, effective_trials, few_clusters


def test_independent_trials_count_nearly_all():
    rng = np.random.default_rng(1)
    trials = np.full(200, 100.0)
    hits = rng.binomial(100, 0.05, 200).astype(float)

    assert effective_trials(hits, trials, 200) == pytest.approx(20_000, rel=0.2)


def test_trials_that_agree_within_a_cluster_count_as_one_each():
    trials = np.full(100, 50.0)
    hits = np.where(np.arange(100) < 10, 50.0, 0.0)

    assert effective_trials(hits, trials, 100) == pytest.approx(100, rel=0.05)


def test_where_all_trials_agree_they_count_as_the_independent_ones():
    assert effective_trials(np.zeros(30), np.full(30, 100.0), 59) == 59
    assert effective_trials(np.full(30, 2.0), np.full(30, 2.0), 100) == 60


def test_fewer_than_two_clusters_tell_nothing():
    assert effective_trials(np.array([1.0]), np.array([10.0]), 5) == 0
    assert effective_trials(np.array([]), np.array([]), 5) == 0


def test_the_design_effects_of_many_campaigns_are_those_of_each():
    rng = np.random.default_rng(2)
    trials = rng.integers(5, 50, (6, 4)).astype(float)
    hits = rng.binomial(trials.astype(int), 0.8).astype(float)
    together = design_effect(hits, trials)

    for row in range(6):
        assert together[row] == pytest.approx(float(design_effect(hits[row], trials[row])))


def test_the_design_effect_of_independent_trials_is_1_and_of_copies_their_number():
    rng = np.random.default_rng(3)
    independent = rng.binomial(20, 0.9, 5000).astype(float)
    copies = 20.0 * rng.binomial(1, 0.9, 5000)
    trials = np.full(5000, 20.0)

    assert float(design_effect(independent, trials)) == pytest.approx(1, abs=0.1)
    assert float(design_effect(copies, trials)) == pytest.approx(20, rel=0.01)


def test_where_all_trials_agree_there_is_no_design_effect():
    assert np.isnan(design_effect(np.full(4, 9.0), np.full(4, 9.0)))


# (2.920 / 1.645)^2 and (2.132 / 1.645)^2 with t from printed tables.
@pytest.mark.parametrize(("clusters", "factor"), [(3, 3.151), (5, 1.680)])
def test_few_clusters_widen_the_variance_by_students_t(clusters, factor):
    assert few_clusters(clusters) == pytest.approx(factor, abs=2e-3)
