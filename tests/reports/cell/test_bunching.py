"""Chunks that something held back are told from chunks that a server sent."""

from __future__ import annotations

import numpy as np
import pytest

from reports.cell.bunching import bunching


def honest(rng, count=127):
    return 10 * rng.gamma(20, 1 / 20, count)


@pytest.fixture
def rng():
    return np.random.default_rng(1)


def test_an_honest_stream_is_not_bunched(cell_of, rng):
    found = bunching(cell_of(range(50), gaps_ms=[honest(rng) for _ in range(50)]))

    assert not found.hides_gaps
    assert found.deliveries == pytest.approx(128, abs=1)


def test_long_stalls_of_an_honest_stream_are_not_bunching(cell_of, rng):
    gaps = [honest(rng) for _ in range(20)]
    for one in gaps:
        one[60] = 30_000

    assert not bunching(cell_of(range(20), gaps_ms=gaps)).hides_gaps


def test_a_fast_server_is_not_bunched(cell_of, rng):
    gaps = [honest(rng) / 100 for _ in range(20)]

    assert not bunching(cell_of(range(20), gaps_ms=gaps)).hides_gaps


def test_a_proxy_that_flushes_now_and_then_hides_gaps_and_means(cell_of):
    flushes = ([0.0] * 31 + [320.0]) * 4

    found = bunching(cell_of(range(20), gaps_ms=flushes[:127]))

    assert found.hides_gaps
    assert found.deliveries == 4
    assert found.hides_means


def test_a_proxy_that_holds_the_whole_answer_hides_both(cell_of):
    found = bunching(cell_of(range(20), gaps_ms=[0.0] * 127))

    assert found.hides_means
    assert found.deliveries == 1


def test_reads_a_few_microseconds_apart_are_one_delivery(cell_of):
    found = bunching(cell_of(range(20), gaps_ms=([0.02] * 15 + [150.0]) * 8))

    assert found.hides_gaps


def test_many_small_bunches_hide_gaps_but_not_the_mean(cell_of):
    # Four tokens at a time, as a server with speculative decoding may send them.
    found = bunching(cell_of(range(20), gaps_ms=[0.0, 0.0, 0.0, 40.0] * 32))

    assert found.hides_gaps
    assert not found.hides_means


def test_an_answer_of_many_tokens_in_one_piece_hides_both(cell_of):
    found = bunching(cell_of(range(20), gaps_ms=[], output_tokens=128))

    assert found.hides_means


def test_answers_of_one_token_hide_nothing(cell_of):
    assert not bunching(cell_of(range(20), gaps_ms=[])).hides_gaps


def test_no_answers_hide_nothing(cell_of):
    assert not bunching(cell_of([])).hides_gaps


def test_the_count_does_not_depend_on_how_the_work_is_cut(cell_of, rng, monkeypatch):
    cell = cell_of(range(9), gaps_ms=[np.r_[honest(rng, 20), 0, 0] for _ in range(9)])
    whole = bunching(cell)
    monkeypatch.setattr("reports.cell.bunching._GAPS_AT_ONCE", 30)

    assert bunching(cell) == whole
