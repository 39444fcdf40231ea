"""Rank tests are exact, and silent where they could never speak."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.stats.ranks import rank_sum, signed_rank


def test_five_pairs_cannot_reach_5_percent_and_six_can():
    five = signed_rank([2.0, 3, 4, 5, 6], [1.0] * 5)
    six = signed_rank([2.0, 3, 4, 5, 6, 7], [1.0] * 6)

    assert (five.p_value, five.why) == (
        None,
        "so few launches reach p = 0.062 at best, not 0.05",
    )
    assert (six.p_value, six.why) == (pytest.approx(2 / 64), None)


def test_three_against_three_cannot_reach_5_percent_and_four_against_four_can():
    assert rank_sum([1.0, 2, 3], [4.0, 5, 6]).p_value is None
    assert rank_sum([1.0, 2, 3, 4], [5.0, 6, 7, 8]).p_value == pytest.approx(2 / 70)


@given(
    pairs=st.lists(
        st.tuples(st.floats(1, 100), st.floats(1, 100)), min_size=6, max_size=9, unique=True
    )
)
def test_signed_ranks_are_those_of_all_sign_patterns(pairs):
    ours, theirs = zip(*pairs, strict=True)
    differences = np.log(ours) - np.log(theirs)
    differences = differences[differences != 0]
    found = signed_rank(ours, theirs)
    if len(differences) < 6:
        assert found.p_value is None
        return
    ranks = stats.rankdata(np.abs(differences))
    middle = ranks.sum() / 2
    away = abs(ranks[differences > 0].sum() - middle)
    patterns = product((0, 1), repeat=len(ranks))
    as_far = [abs(np.dot(signs, ranks) - middle) >= away - 1e-9 for signs in patterns]

    assert found.p_value == pytest.approx(np.mean(as_far))


def test_signed_ranks_agree_with_scipy():
    rng = np.random.default_rng(4)
    ours, theirs = rng.lognormal(0.2, 1, 12), rng.lognormal(0, 1, 12)
    expected = stats.wilcoxon(np.log(ours) - np.log(theirs), method="exact").pvalue

    assert signed_rank(list(ours), list(theirs)).p_value == pytest.approx(expected)


@pytest.mark.parametrize("test", [signed_rank, rank_sum])
@pytest.mark.parametrize("odd", [None, float("inf")])
def test_a_launch_without_a_value_leaves_no_rank_test(test, odd):
    found = test([1.0, 2, 3, 4, 5, 6, odd], [2.0, 3, 4, 5, 6, 7, 8])

    assert (found.p_value, found.why) == (None, "a launch without a value")


def test_equal_values_have_no_exact_rank_sum():
    found = rank_sum([1.0, 2, 3, 4], [4.0, 5, 6, 7])

    assert (found.p_value, found.why) == (None, "equal values: no exact probability")
