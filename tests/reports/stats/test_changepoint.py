"""A change of level in a series of runs is found, and chance is not taken for one."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from reports.stats.changepoint import MIN_RUNS, change_points


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def series(seed: int, *levels: tuple[int, float], cv: float = 0.02) -> list[float]:
    """Runs around levels, each a number of runs and a value."""
    means = np.repeat([level for _, level in levels], [runs for runs, _ in levels])
    return list(means * np.exp(cv * rng(seed).standard_normal(len(means))))


def test_fewer_than_eight_runs_are_no_series():
    assert change_points([100.0] * (MIN_RUNS - 1), rng()) is None
    assert change_points([100.0] * (MIN_RUNS - 1) + [None] * 5, rng()) is None
    assert change_points([100.0] * MIN_RUNS, rng()) == []


def test_a_step_is_found_with_its_place_and_size():
    (found,) = change_points(series(1, (10, 100), (10, 110)), rng())

    assert found.position == 10
    assert found.low <= 1.10 <= found.high
    assert found.ratio == pytest.approx(1.10, abs=0.02)
    assert found.p_value <= 0.05
    assert (found.level, "Hodges-Lehmann" in found.method) == (0.95, True)


def test_four_runs_against_four_suffice():
    (found,) = change_points(series(2, (4, 100), (4, 120)), rng())

    assert found.position == 4
    assert found.low <= 1.2 <= found.high


def test_a_change_that_came_back_is_two_changes():
    up, down = change_points(series(3, (12, 100), (8, 115), (12, 100)), rng())

    assert (up.position, down.position) == (12, 20)
    assert up.ratio == pytest.approx(1.15, abs=0.03)
    assert down.ratio == pytest.approx(1 / 1.15, abs=0.03)


def test_a_staircase_is_found_step_by_step():
    found = change_points(series(4, (12, 100), (12, 120), (12, 144)), rng())

    assert [each.position for each in found] == pytest.approx([12, 24], abs=1)
    assert [each.ratio for each in found] == pytest.approx([1.2, 1.2], abs=0.03)


def test_one_or_two_odd_runs_are_no_change():
    runs = series(5, (20, 100))
    runs[-1] = 300.0
    runs[7] = 20.0

    assert change_points(runs, rng()) == []


@pytest.mark.parametrize("runs", [8, 12, 24])
@pytest.mark.parametrize("draw", ["standard_normal", "standard_cauchy"])
def test_a_series_without_a_change_raises_an_alarm_5_times_in_100(runs, draw):
    source = rng(runs)
    alarms = [
        bool(change_points(np.exp(np.clip(getattr(source, draw)(runs), -300, 300)), source))
        for _ in range(250)
    ]

    assert np.mean(alarms) <= 0.05 + 3 * (0.05 * 0.95 / 250) ** 0.5


def test_after_a_true_change_further_alarms_are_rare():
    source = rng(6)
    extra = 0
    for seed in range(120):
        found = change_points(series(seed, (10, 100), (10, 150)), source)
        extra += len(found) > 1

    assert extra / 120 <= 0.1


def test_a_percentile_among_the_failures_is_above_all_others():
    runs = series(7, (10, 100)) + [inf] * 6
    (found,) = change_points(runs, rng())

    assert (found.position, found.ratio) == (10, inf)


def test_a_run_without_a_value_is_passed_over_and_keeps_its_place():
    runs = series(8, (10, 100), (10, 130))
    runs[3:3] = [None]
    (found,) = change_points(runs, rng())

    assert found.position == 11


def test_the_same_draws_give_the_same_answer():
    runs = series(9, (9, 100), (9, 108))

    assert change_points(runs, rng(1)) == change_points(runs, rng(1))


def test_a_value_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="not positive"):
        change_points([0.0] * 10, rng())
