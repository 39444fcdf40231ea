"""Exact bounds of a share are never too sure."""

from __future__ import annotations

from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.stats.binomial import share_limits, share_lower_bound, share_upper_bound


def tail(hits: int, trials: int, share: float) -> float:
    """P(X >= hits) of a binomial, by summing its terms."""
    return sum(
        comb(trials, k) * share**k * (1 - share) ** (trials - k)
        for k in range(hits, trials + 1)
    )


def test_196_of_200_prove_95_percent_and_195_do_not():
    assert share_lower_bound(196, 200) >= 0.95
    assert share_lower_bound(195, 200) < 0.95


def test_184_of_200_disprove_95_percent_and_185_do_not():
    assert share_upper_bound(184, 200) < 0.95
    assert share_upper_bound(185, 200) >= 0.95


# Two-sided 95% limits as printed in tables of Clopper and Pearson's interval.
@pytest.mark.parametrize(
    ("hits", "trials", "low", "high"),
    [(0, 10, 0.0, 0.3085), (5, 10, 0.1871, 0.8129), (10, 10, 0.6915, 1.0)],
)
def test_limits_are_those_of_the_tables(hits, trials, low, high):
    assert share_lower_bound(hits, trials, 0.975) == pytest.approx(low, abs=5e-5)
    assert share_upper_bound(hits, trials, 0.975) == pytest.approx(high, abs=5e-5)


@pytest.mark.parametrize(("hits", "trials"), [(1, 5), (57, 59), (196, 200)])
def test_at_the_lower_bound_as_many_hits_have_a_chance_of_one_in_twenty(hits, trials):
    assert tail(hits, trials, share_lower_bound(hits, trials)) == pytest.approx(0.05)


def test_59_of_59_just_prove_95_percent_as_a_missing_failure_does():
    assert share_lower_bound(59, 59) == pytest.approx(0.05 ** (1 / 59))
    assert share_lower_bound(58, 58) < 0.95 < share_lower_bound(59, 59)


@given(trials=st.integers(1, 400), data=st.data())
def test_bounds_enclose_the_share_and_grow_with_the_hits(trials, data):
    hits = data.draw(st.integers(0, trials - 1))

    assert share_lower_bound(hits, trials) <= hits / trials <= share_upper_bound(hits, trials)
    assert share_lower_bound(hits, trials) < share_lower_bound(hits + 1, trials)
    assert share_upper_bound(hits, trials) <= share_upper_bound(hits + 1, trials)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.95, 0.99])
def test_the_lower_bound_is_below_the_truth_in_95_of_100_samples_or_more(share):
    rng = np.random.default_rng(7)
    hits = rng.binomial(200, share, 4000)
    bounds = {int(count): share_lower_bound(int(count), 200) for count in set(hits.tolist())}
    covered = np.mean([bounds[int(count)] <= share for count in hits])

    assert covered >= 0.945


@given(trials=st.integers(1, 400), data=st.data())
def test_the_limits_of_many_shares_are_those_of_each(trials, data):
    hits = data.draw(st.integers(0, trials))
    low, high = share_limits(np.array([hits]), np.array([trials]))

    assert float(low[0]) == pytest.approx(share_lower_bound(hits, trials))
    assert float(high[0]) == pytest.approx(share_upper_bound(hits, trials))
