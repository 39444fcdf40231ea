"""The shift between two samples without an assumption on their distribution."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.stats.shift import shift

SAMPLES = st.lists(st.floats(-10, 10), min_size=3, max_size=8, unique=True).map(np.array)


def test_three_against_three_have_a_middle_and_no_limits():
    found = shift(np.array([1.0, 2, 3]), np.array([11.0, 12, 13]))

    assert (found.middle, found.low, found.high) == (10, None, None)


def test_four_against_four_are_bounded_by_the_extreme_differences():
    found = shift(np.array([1.0, 2, 3, 4]), np.array([11.0, 12, 13, 14]))

    assert (found.middle, found.low, found.high) == (10, 7, 13)


@given(before=SAMPLES, after=SAMPLES)
def test_a_shift_outside_the_limits_is_one_that_the_rank_sum_test_rejects(before, after):
    found = shift(before, after)
    if found.low is None:
        return
    for tried in (found.low - 0.37, found.high + 0.37):
        moved = after - tried
        if len(np.unique(np.concatenate((before, moved)))) == len(before) + len(after):
            assert stats.mannwhitneyu(before, moved, method="exact").pvalue <= 0.05 + 1e-9


@pytest.mark.parametrize("draw", ["standard_normal", "standard_cauchy"])
@pytest.mark.parametrize(("before", "after"), [(4, 4), (5, 9), (12, 20)])
def test_95_of_100_intervals_or_more_hold_the_true_shift(before, after, draw):
    rng = np.random.default_rng([before, after])
    found = [
        shift(getattr(rng, draw)(before), 3 + getattr(rng, draw)(after)) for _ in range(800)
    ]

    assert np.mean([each.low <= 3 <= each.high for each in found]) >= 0.935


def test_values_beyond_the_failures_shift_without_end():
    found = shift(np.array([1.0, 2, 3, 4]), np.array([np.inf] * 4))

    assert (found.middle, found.low, found.high) == (np.inf, np.inf, np.inf)
    assert shift(np.array([np.inf] * 4), np.array([np.inf] * 4)).middle == 0
