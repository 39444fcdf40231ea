"""A change that has just come is found in three runs, and chance is not taken for one."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from reports.stats.latest_step import latest_step

ALPHA = 0.02


def runs(seed: int, before: int, after: int, step: float, cv: float = 0.01) -> list[float]:
    noise = np.exp(cv * np.random.default_rng(seed).standard_normal(before + after))
    return list(100 * noise * np.repeat([1.0, step], [before, after]))


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_fewer_than_eight_runs_say_nothing() -> None:
    assert latest_step(runs(0, 4, 3, 2.0), rng(), alpha=1) is None
    assert latest_step([*runs(0, 4, 3, 2.0), None, None], rng(), alpha=1) is None


@pytest.mark.parametrize("step", [1.05, 1 / 1.05])
def test_a_step_of_5_percent_at_a_coefficient_of_variation_of_1_is_found_in_three_runs(
    step,
) -> None:
    found = [latest_step(runs(seed, 8, 3, step), rng(seed), alpha=ALPHA) for seed in range(60)]
    places = [each.position for each in found if each is not None]

    assert sum(each is not None for each in found) >= 57
    assert np.mean([place == 8 for place in places]) > 0.9
    assert np.median([each.ratio for each in found if each]) == pytest.approx(step, abs=0.01)


@pytest.mark.parametrize("count", [8, 11, 20])
@pytest.mark.parametrize("draw", ["standard_normal", "standard_cauchy"])
def test_a_series_without_a_change_raises_an_alarm_as_rarely_as_asked(count, draw) -> None:
    source = rng(count)
    alarms = [
        latest_step(
            list(np.exp(np.clip(getattr(source, draw)(count), -300, 300))), source, alpha=0.05
        )
        is not None
        for _ in range(250)
    ]

    assert np.mean(alarms) <= 0.05 + 3 * (0.05 * 0.95 / 250) ** 0.5


def test_two_odd_runs_are_no_change() -> None:
    odd = runs(3, 18, 0, 1.0)
    odd[-1] = 300.0

    assert latest_step(odd, rng(), alpha=ALPHA) is None


def test_runs_among_the_failures_are_a_change_to_infinity() -> None:
    found = latest_step([*runs(4, 9, 0, 1.0), inf, inf, inf], rng(), alpha=ALPHA)

    assert found is not None
    assert (found.position, found.ratio) == (9, inf)


def test_a_run_without_a_value_is_passed_over_and_keeps_its_place() -> None:
    values = runs(5, 8, 3, 1.2)
    values[2:2] = [None]
    found = latest_step(values, rng(), alpha=ALPHA)

    assert found is not None
    assert found.position == 9
