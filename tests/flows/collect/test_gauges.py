"""The mean of a gauge is weighted by time."""

from __future__ import annotations

import pytest

from flows.collect.gauges import course
from flows.collect.reading import Reading
from tests.flows.collect.conftest import S


def readings(*points: tuple[float, float | None]) -> list[Reading]:
    return [
        Reading(
            asked_ns=round(at * S),
            answered_ns=round(at * S),
            gauges={} if value is None else {"waiting": value},
        )
        for at, value in points
    ]


def waiting(found: list[Reading], window_s: tuple[float, float] = (0, 100)):
    window = (round(window_s[0] * S), round(window_s[1] * S))
    return course(found, lambda reading: reading.waiting, window)


def test_readings_that_are_far_apart_weigh_more():
    found = waiting(readings((0, 0), (1, 4), (5, 4), (6, 0)))

    assert found is not None
    assert found.mean == pytest.approx((2 + 16 + 2) / 6)
    assert (found.most, found.n) == (4, 4)


def test_only_readings_of_the_window_count():
    found = waiting(readings((0, 9), (2, 1), (4, 3), (9, 9)), window_s=(1, 5))

    assert found is not None
    assert (found.mean, found.most, found.n) == (2, 3, 2)


def test_one_reading_is_its_own_mean():
    found = waiting(readings((3, 7)))

    assert found is not None
    assert (found.mean, found.n) == (7, 1)


def test_without_the_gauge_there_is_no_mean():
    assert waiting(readings((0, None), (1, None))) is None
    assert waiting([]) is None
