"""The wait in the server: the best that its release offers, and the words for the rest."""

from __future__ import annotations

import math

import pytest

from catalog.quantity import Basis
from flows.collect.figure import NOT_OFFERED, Figure, Unavailable
from flows.collect.gauges import Course
from flows.collect.histogram import Histogram
from flows.collect.queue_time import Evidence, Waits, queue_time_mean, queue_time_p95
from flows.collect.span import RESET

NOTHING = Waits(times=None, whole=None, from_idle=False, seconds=None, requests=None)
TIMES = Histogram(edges=(0.3, 0.5, math.inf), counts=(90, 10, 0), total=20.0)


def counted(times=TIMES, whole=TIMES, *, from_idle: bool = False) -> Waits:
    return Waits(times=times, whole=whole, from_idle=from_idle, seconds=None, requests=None)


def evidence(client, *servers: Waits, waiting=None, series=None) -> Evidence:
    return Evidence(
        basis=Basis.MEASUREMENT,
        client=client,
        servers=servers or (NOTHING,),
        waiting=waiting,
        series=series,
    )


def test_what_each_answer_says_is_taken_first_and_only_of_measured_requests(requests):
    waits = [9.0] * 10 + [i / 100 for i in range(100)]
    client = requests(110, queue_s=waits, warmup=10)

    p95 = queue_time_p95(evidence(client, counted()))
    mean = queue_time_mean(evidence(client, counted()))

    assert isinstance(p95, Figure)
    assert (p95.value, p95.n, p95.level, p95.is_estimate) == (0.94, 100, 0.95, False)
    assert p95.low is not None
    assert p95.high is not None
    assert p95.low < 0.94 < p95.high
    assert isinstance(mean, Figure)
    assert mean.value == pytest.approx(0.495)


def test_of_few_answers_no_upper_limit_is_claimed(requests):
    p95 = queue_time_p95(evidence(requests(20, queue_s=[0.1] * 20)))

    assert isinstance(p95, Figure)
    assert (p95.value, p95.high) == (0.1, None)


def test_a_histogram_gives_limits_and_no_value(requests):
    p95 = queue_time_p95(evidence(requests(100), counted()))

    assert isinstance(p95, Figure)
    assert p95.value is None
    assert (p95.low, p95.n, p95.level, p95.unit) == (0.3, 100, None, "s")
    assert p95.high == 0.5
    assert "nothing interpolated" in p95.method


def test_the_sum_of_the_whole_cell_narrows_the_limits_of_its_window(requests):
    """None of the 50 in the window can have waited longer than all of the cell together."""
    window = Histogram(edges=(0.3, math.inf), counts=(50, 0), total=0.0)
    whole = Histogram(edges=(0.3, math.inf), counts=(60, 0), total=0.12)

    p95 = queue_time_p95(evidence(requests(60), counted(window, whole)))

    assert isinstance(p95, Figure)
    assert (p95.low, p95.high) == (0.0, pytest.approx(0.12 / 3))


def test_servers_that_share_a_load_are_one_histogram(requests):
    p95 = queue_time_p95(evidence(requests(200), counted(), counted()))
    mean = queue_time_mean(evidence(requests(200), counted(), counted()))

    assert isinstance(p95, Figure)
    assert p95.n == 200
    assert isinstance(mean, Figure)
    assert mean.value == pytest.approx(0.2)


def test_a_histogram_that_only_one_of_two_servers_has_is_no_answer(requests):
    assert queue_time_p95(evidence(requests(9), counted(), NOTHING)) == Unavailable(
        reason=NOT_OFFERED
    )


def test_without_a_queue_time_the_rest_of_the_time_to_first_token_is_an_estimate(requests):
    client = requests(100, ttft_s=[0.5] * 100, prompt_s=[0.1] * 99 + [0.9])

    p95 = queue_time_p95(evidence(client))

    assert isinstance(p95, Figure)
    assert p95.is_estimate
    assert p95.value == pytest.approx(0.4)
    assert (p95.low, p95.high, p95.level) == (None, None, None)
    assert "an estimate from above" in p95.method


def test_a_release_with_neither_says_so_and_shows_the_mean_by_littles_law(requests):
    """Four wait on average and two requests are sent each second: each waits two seconds."""
    client = requests(100)
    waiting = Course(mean=4.0, most=6.0, n=30)

    p95 = queue_time_p95(evidence(client, waiting=waiting))
    mean = queue_time_mean(evidence(client, waiting=waiting))

    assert p95 == Unavailable(reason="not offered by this version")
    assert isinstance(mean, Figure)
    assert mean.value == pytest.approx(4.0)
    assert mean.is_estimate
    assert mean.method.startswith("estimate by Little's law")
    assert mean.n == 30


def test_a_histogram_that_the_release_has_but_the_page_lacks_is_named(requests):
    p95 = queue_time_p95(evidence(requests(9), series="vllm:request_queue_time_seconds"))

    assert isinstance(p95, Unavailable)
    assert p95.series == "vllm:request_queue_time_seconds"
    assert p95.to_json()["value"] is None


def test_after_a_restart_nothing_is_claimed_but_the_sampled_mean(requests):
    waiting = Course(mean=1.0, most=1.0, n=3)
    found = evidence(requests(9), counted(RESET, RESET), waiting=waiting)

    assert queue_time_p95(found) == RESET
    mean = queue_time_mean(found)
    assert isinstance(mean, Figure)
    assert mean.is_estimate


def test_a_cell_in_which_nothing_was_counted_has_no_zero(requests):
    empty = Histogram(edges=(0.3, math.inf), counts=(0, 0), total=0.0)

    p95 = queue_time_p95(evidence(requests(9), counted(empty, empty)))

    assert isinstance(p95, Unavailable)


def test_seconds_over_requests_is_a_mean_where_a_release_counts_these(requests):
    waits = Waits(times=None, whole=None, from_idle=True, seconds=12.0, requests=48.0)

    mean = queue_time_mean(evidence(requests(48), waits))

    assert isinstance(mean, Figure)
    assert (mean.value, mean.n, mean.is_estimate) == (0.25, 48, False)


def test_without_any_gauge_the_mean_is_not_offered_either(requests):
    assert queue_time_mean(evidence(requests(9))) == Unavailable(reason=NOT_OFFERED)
