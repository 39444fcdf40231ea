"""Percentiles are values that occurred, and their bounds cover."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.stats.quantiles import (
    bound_ranks,
    nearest_rank,
    percentile_bounds,
    percentiles,
)

VALUES = st.lists(st.floats(0, 1e6), min_size=1, max_size=60).map(np.array)


@pytest.mark.parametrize(
    ("count", "percent", "rank"),
    [(200, 95, 190), (100, 99, 99), (1, 50, 1), (20, 95, 19), (1000, 99.9, 999), (3, 50, 2)],
)
def test_the_rank_is_the_next_whole_one_and_decimal_percents_are_exact(count, percent, rank):
    assert nearest_rank(count, percent) == rank


def test_percentiles_of_one_to_a_hundred_are_themselves():
    assert percentiles(np.arange(1.0, 101.0), [50, 90, 95, 99]) == [50, 90, 95, 99]


def test_failures_are_above_every_value():
    assert percentiles(np.arange(1.0, 91.0), [50, 90, 91, 99], infinite=10) == [
        50,
        90,
        None,
        None,
    ]


def test_without_values_there_is_no_percentile_and_no_zero():
    assert percentiles(np.array([]), [50, 99]) == [None, None]
    assert percentiles(np.array([]), [50], infinite=3) == [None]


@given(values=VALUES, infinite=st.integers(0, 20))
def test_percentiles_never_fall_with_the_percent(values, infinite):
    found = percentiles(values, [1, 25, 50, 75, 90, 95, 99, 100], infinite)
    as_numbers = [inf if value is None else value for value in found]

    assert as_numbers == sorted(as_numbers)
    assert all(value is None or value in values for value in found)


@given(values=VALUES, infinite=st.integers(0, 20), percent=st.sampled_from([50, 90, 95, 99]))
def test_failures_never_lower_a_percentile(values, infinite, percent):
    without, with_failures = (
        percentiles(values, [percent], count)[0] for count in (0, infinite)
    )

    assert without is not None
    assert with_failures is None or with_failures >= without


# The 95% interval of a median of 100 values: ranks 40 and 61 (Hahn and Meeker, Statistical
# Intervals, 5.2; Conover, Practical Nonparametric Statistics, 3.2).
def test_the_median_of_100_lies_between_the_40th_and_the_61st_value():
    assert bound_ranks(100, 50, 0.975) == (40, 61)


@pytest.mark.parametrize(("percent", "enough"), [(95, 59), (99, 299), (90, 29), (50, 5)])
def test_a_percentile_has_an_upper_bound_only_from_enough_values_on(percent, enough):
    assert bound_ranks(enough, percent)[1] == enough
    assert bound_ranks(enough - 1, percent)[1] is None


def test_too_few_values_give_no_bound_rather_than_the_maximum():
    bounds = percentile_bounds(np.arange(58.0), 95)

    assert bounds.high is None
    assert bounds.low is not None


def test_a_bound_among_the_failures_is_infinite():
    assert percentile_bounds(np.arange(190.0), 95, infinite=10).high == inf
    assert percentile_bounds(np.arange(100.0), 95, infinite=100).low == inf


def test_no_values_at_all_have_no_bounds():
    bounds = percentile_bounds(np.array([]), 95)

    assert (bounds.low, bounds.high) == (None, None)


@given(count=st.integers(1, 3000), percent=st.sampled_from([50, 90, 95, 99]))
def test_the_bounds_enclose_the_percentile_itself(count, percent):
    low, high = bound_ranks(count, percent)
    rank = nearest_rank(count, percent)

    assert low is None or low <= rank
    assert high is None or rank <= high


@pytest.mark.parametrize(("count", "percent"), [(59, 95), (200, 95), (200, 90), (299, 99)])
def test_each_bound_covers_the_true_percentile_in_95_of_100_samples_or_more(count, percent):
    rng = np.random.default_rng(11)
    truth = -np.log(1 - percent / 100)
    found = [percentile_bounds(rng.exponential(1, count), percent) for _ in range(3000)]

    assert np.mean([bounds.high >= truth for bounds in found]) >= 0.942
    assert np.mean([bounds.low <= truth for bounds in found if bounds.low]) >= 0.942
