"""A metric over launches rests on its launches alone, and says so."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.stats.replications import LEAST_SPREAD, one_sided, replicated

LAUNCHES = st.lists(st.floats(1.0, 1e5), min_size=2, max_size=8)


def test_the_raw_mad_of_three_hides_one_outlier_which_the_maximum_shows():
    found = replicated([100, 101, 180])

    assert (found.median, found.mad) == (101, 1)
    assert (found.minimum, found.maximum) == (100, 180)


# Student's t at 97.5%, as printed in tables.
@pytest.mark.parametrize(
    ("runs", "t"), [(2, 12.706), (3, 4.303), (4, 3.182), (5, 2.776), (10, 2.262)]
)
def test_the_interval_is_that_of_students_table_on_the_logarithms(runs, t):
    values = [exp(step) for step in range(runs)]
    found = replicated(values)
    middle, error = np.mean(range(runs)), np.std(range(runs), ddof=1) / runs**0.5

    assert log(found.low) == pytest.approx(middle - t * error, abs=1e-3)
    assert log(found.high) == pytest.approx(middle + t * error, abs=1e-3)
    assert (found.level, found.n_runs) == (0.95, runs)
    assert found.method == "t on logarithms over launches"


def test_a_one_sided_limit_at_95_percent_is_the_two_sided_one_at_90():
    values = [100.0, 103.0, 98.0]
    bounds, both = one_sided(values, 0.95), replicated(values, 0.90)

    assert (bounds.low, bounds.high) == pytest.approx((both.low, both.high))


@given(values=LAUNCHES, level=st.sampled_from([0.8, 0.95, 0.99]))
def test_the_interval_is_scipys_on_the_logarithms(values, level):
    found = replicated(values, level)
    logs = np.log(values)
    error = max(np.std(logs, ddof=1), LEAST_SPREAD) / len(values) ** 0.5
    low, high = stats.t.interval(level, len(values) - 1, loc=logs.mean(), scale=error)

    assert found.low == pytest.approx(exp(low))
    assert found.high == pytest.approx(exp(min(high, 700)), rel=1e-9) or found.high > 1e300


@given(values=LAUNCHES, unit=st.floats(1e-3, 1e3))
def test_another_unit_changes_nothing_but_the_unit(values, unit):
    found, scaled = replicated(values), replicated([value * unit for value in values])

    for name in ("median", "low", "minimum", "maximum"):
        assert getattr(scaled, name) == pytest.approx(getattr(found, name) * unit)


@given(values=LAUNCHES)
def test_the_interval_encloses_the_geometric_mean(values):
    found = replicated(values)

    assert found.low <= exp(np.log(values).mean()) * (1 + 1e-9)
    assert found.high >= exp(np.log(values).mean()) * (1 - 1e-9)


@pytest.mark.parametrize("runs", [2, 3, 5])
@pytest.mark.parametrize("cv", [0.02, 0.5])
def test_95_of_100_intervals_cover_the_truth_and_95_of_100_limits_either_side(runs, cv):
    rng = np.random.default_rng([runs, int(cv * 100)])
    campaigns = np.exp(cv * rng.standard_normal((3000, runs)))
    both = [replicated(list(values)) for values in campaigns]
    sides = [one_sided(list(values)) for values in campaigns]

    assert np.mean([each.low <= 1 <= each.high for each in both]) == pytest.approx(
        0.95, abs=0.012
    )
    assert np.mean([each.low <= 1 for each in sides]) == pytest.approx(0.95, abs=0.012)
    assert np.mean([each.high >= 1 for each in sides]) == pytest.approx(0.95, abs=0.012)


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([], "fewer than two launches"),
        ([100.0], "fewer than two launches"),
        ([100.0, None, 101.0], "a launch without a value"),
        ([100.0, inf, 101.0], "a launch whose value lies beyond the failures"),
        ([100.0, 0.0, 101.0], "a value that is not positive"),
        ([100.0, -1.0], "a value that is not positive"),
    ],
)
def test_where_a_launch_tells_nothing_there_is_no_bound_at_all(values, why):
    found = replicated(values)

    assert (found.low, found.high, found.why) == (None, None, why)
    assert (one_sided(values).low, one_sided(values).high) == (None, None)
    assert found.n_runs == len(values)


def test_a_launch_without_a_value_could_have_been_any():
    found = replicated([100.0, None, 101.0])

    assert (found.median, found.mad, found.minimum, found.maximum) == (None,) * 4


def test_a_percentile_among_the_failures_is_the_largest_of_all():
    found = replicated([100.0, inf, 101.0])

    assert (found.median, found.mad, found.minimum, found.maximum) == (101, 1, 100, inf)


def test_a_median_among_the_failures_has_no_deviations():
    found = replicated([100.0, inf, inf])

    assert (found.median, found.mad) == (inf, None)


def test_launches_that_agree_to_the_digit_still_leave_an_interval():
    found = replicated([100.0, 100.0, 100.0])

    assert found.low == pytest.approx(100 * exp(-4.3027 * LEAST_SPREAD / 3**0.5))
    assert found.low < 100 < found.high
