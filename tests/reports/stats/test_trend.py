"""A trend is told from chance exactly."""

from __future__ import annotations

from itertools import permutations
from math import factorial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.stats.trend import trend


def score(values) -> int:
    return sum(
        int(np.sign(later - earlier))
        for place, earlier in enumerate(values)
        for later in values[place + 1 :]
    )


@pytest.mark.parametrize("values", [[1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 6, 5], [3, 1, 2, 6, 5, 4]])
def test_the_probability_is_the_share_of_all_orders_that_are_as_far_from_none(values):
    orders = [abs(score(order)) for order in permutations(values)]
    share = sum(other >= abs(score(values)) for other in orders) / factorial(6)

    assert trend(np.array(values, dtype=float)).p_value == pytest.approx(share)


def test_eight_rising_values_happen_by_chance_twice_in_40320():
    assert trend(np.arange(8.0)).p_value == pytest.approx(2 / 40320)


# Kendall, Rank Correlation Methods, appendix table 1: n = 8, S = 20 has 0.0071 to one side.
def test_a_score_of_20_among_eight_has_the_probability_of_kendalls_table():
    values = np.array([4, 1, 2, 3, 5, 6, 8, 7], dtype=float)

    assert score(values) == 20
    assert trend(values).p_value / 2 == pytest.approx(0.0071, abs=5e-5)


def test_equal_values_have_no_trend_and_no_change():
    found = trend(np.full(8, 5.0))

    assert found.p_value == 1.0
    assert found.change == 0.0


def test_ties_are_judged_by_the_variance_that_ties_leave():
    # S = 9, variance (5 * 4 * 15 - 2 * 1 * 9) / 18 = 15.67, z = (9 - 1) / 3.958 = 2.021.
    values = np.array([1, 2, 2, 3, 4], dtype=float)

    assert score(values) == 9
    assert trend(values).p_value == pytest.approx(0.0433, abs=1e-4)


def test_the_change_is_that_of_the_fitted_line_over_the_whole_series():
    assert trend(np.linspace(90, 110, 8)).change == pytest.approx(0.2)
    assert trend(np.linspace(110, 90, 8)).change == pytest.approx(-0.2)


def test_one_wild_value_moves_the_fitted_change_little():
    values = np.linspace(90, 110, 8)
    values[3] = 1e6

    assert trend(values).change == pytest.approx(0.2, abs=0.1)


@given(st.lists(st.floats(-1e6, 1e6), min_size=3, max_size=12, unique=True).map(np.array))
def test_turning_a_series_around_keeps_its_probability(values):
    assert trend(values[::-1]).p_value == pytest.approx(trend(values).p_value)


def test_noise_alone_is_called_a_trend_no_more_often_than_said():
    rng = np.random.default_rng(3)
    found = [trend(rng.standard_normal(8)).p_value < 0.01 for _ in range(4000)]

    assert np.mean(found) <= 0.013
