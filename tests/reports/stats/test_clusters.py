"""Trials that come together count for as many as they tell apart."""

from __future__ import annotations

import numpy as np
import pytest

from reports.stats.clusters import effective_trials


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
