"""Trends are told from fluctuation, and waves from independent streams."""

from __future__ import annotations

import heapq

import numpy as np
import pytest

from reports.cell.latency import latencies
from reports.cell.steady import (
    is_trend,
    moves_in_waves,
    tokens_between,
    trends,
    window_of,
)

MS = 1_000_000


def queue(rng, utilisation, count, slots=16, service_ms=1300.0):
    """Due times and waits of a queue with `slots` servers and Poisson arrivals, in ms."""
    due = np.cumsum(rng.exponential(service_ms / slots / utilisation, count))
    free = [0.0] * slots
    waits = np.empty(count)
    for place, at in enumerate(due):
        start = max(at, heapq.heappop(free))
        waits[place] = start - at
        heapq.heappush(free, start + service_ms * rng.normal(1, 0.03))
    return due, waits


def found_trends(cell_of, due, waits):
    warmup = ["warmup"] * 50 + ["measured"] * (len(due) - 50)
    cell = cell_of(due, ttft_ms=50 + waits, gaps_ms=[139.0] * 9, phase=warmup)
    measured = cell.where(cell.phase == "measured")
    window = window_of(measured)
    return {
        name
        for name, seen in trends(cell, measured, latencies(measured).ttft, window).items()
        if is_trend(seen)
    }


@pytest.mark.parametrize("utilisation", [0.3, 0.8, 0.95])
def test_queues_below_capacity_are_steady_in_all_but_a_few_cells(cell_of, utilisation):
    rng = np.random.default_rng(1)
    called = [bool(found_trends(cell_of, *queue(rng, utilisation, 250))) for _ in range(60)]

    assert sum(called) <= 3


def test_a_queue_above_capacity_grows_in_flight_and_ttft(cell_of):
    rng = np.random.default_rng(2)
    found = [found_trends(cell_of, *queue(rng, 1.5, 250)) for _ in range(20)]

    assert sum({"in flight", "TTFT"} <= names for names in found) >= 18


def test_a_server_that_slows_down_is_seen_in_a_closed_loop(cell_of):
    rng = np.random.default_rng(3)
    ttft = np.linspace(50, 90, 400) * rng.normal(1, 0.05, 400)
    cell = cell_of(np.arange(400) * 100.0, ttft_ms=ttft)
    seen = trends(cell, cell, latencies(cell).ttft, window_of(cell))

    assert is_trend(seen["TTFT"])
    assert seen["TTFT"].change == pytest.approx(0.57, abs=0.1)


def test_a_small_drift_is_no_trend_however_certain(cell_of):
    cell = cell_of(np.arange(400) * 100.0, ttft_ms=np.linspace(100, 115, 400))
    seen = trends(cell, cell, latencies(cell).ttft, window_of(cell))

    assert seen["TTFT"].p_value < 1e-4
    assert not is_trend(seen["TTFT"])


def test_few_requests_are_not_judged(cell_of):
    cell = cell_of(np.arange(23) * 100.0)

    assert trends(cell, cell, latencies(cell).ttft, window_of(cell)) == {}


def test_a_block_without_answers_leaves_ttft_unjudged(cell_of):
    due = np.r_[np.arange(60.0), 10_000 + np.arange(60.0)]
    cell = cell_of(due)

    assert "TTFT" not in trends(cell, cell, latencies(cell).ttft, window_of(cell))


def test_the_window_reaches_from_the_first_due_time_to_the_last_success(
    cell_of, without_answers
):
    cell = without_answers(cell_of([5, 10, 900], tail_ms=1), [2], "timed_out")
    window = window_of(cell)

    assert (window.begin_ns, window.last_due_ns) == (5 * MS, 900 * MS)
    assert window.end_ns == (10 + 50 + 90 + 1) * MS
    assert window.length_s == pytest.approx(0.146)


def test_without_a_success_there_is_no_window(cell_of, without_answers):
    assert window_of(cell_of([])) is None
    assert window_of(without_answers(cell_of([0]), [0], "failed_http")) is None


def test_tokens_count_for_the_part_of_an_answer_inside_the_span(cell_of):
    cell = cell_of([0], ttft_ms=100, gaps_ms=[10.0] * 10)

    assert tokens_between(cell, 100 * MS, 200 * MS) == pytest.approx(11)
    assert tokens_between(cell, 150 * MS, 300 * MS) == pytest.approx(5.5)
    assert tokens_between(cell, 0, 100 * MS) == 0


def test_an_answer_of_one_token_counts_where_it_came(cell_of):
    cell = cell_of([0], ttft_ms=100, gaps_ms=[])

    assert tokens_between(cell, 0, 100 * MS) == 1
    assert tokens_between(cell, 100 * MS, 200 * MS) == 0


def test_the_tokens_of_a_failure_count_for_nothing(cell_of):
    assert tokens_between(cell_of([0], outcome="truncated"), 0, 10**12) == 0


def test_streams_that_end_together_move_in_waves(cell_of):
    rng = np.random.default_rng(4)
    starts = np.repeat(np.arange(12) * 1300.0, 16) + rng.uniform(0, 3, 192)

    assert moves_in_waves(cell_of(starts), 16)


@pytest.mark.parametrize("streams", [4, 16, 256])
def test_streams_that_end_apart_do_not_move_in_waves(cell_of, streams):
    rng = np.random.default_rng(5)
    starts = np.cumsum(rng.exponential(10, 10 * streams))

    assert not moves_in_waves(cell_of(starts), streams)


def test_a_few_streams_or_rounds_are_not_called_waves(cell_of):
    assert not moves_in_waves(cell_of([0, 0, 0, 100, 100, 100]), 3)
    assert not moves_in_waves(cell_of([0] * 16 + [1000] * 16), 16)
