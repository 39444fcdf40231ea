"""Latencies follow their definitions to the millisecond."""

from __future__ import annotations

import numpy as np
import pytest

from reports.cell.latency import latencies, output_tokens, send_lag_ms
from reports.columns import NULL

MS = 1_000_000


def test_ttft_counts_from_the_due_time_and_service_ttft_from_the_write(cell_of):
    found = latencies(cell_of([0, 100], ttft_ms=[50, 80], lag_ms=2))

    assert found.ttft.tolist() == [50, 80]
    assert found.service_ttft.tolist() == [48, 78]
    assert found.client_queue.tolist() == [2, 2]


def test_e2e_counts_from_the_due_time_to_the_end_of_the_answer(cell_of):
    found = latencies(cell_of([5], ttft_ms=50, gaps_ms=[10, 20], tail_ms=3))

    assert found.e2e.tolist() == [83]


def test_ttfa_is_the_first_token_of_the_answer(cell_of):
    found = latencies(cell_of([0, 0], first_answer_ns=[70 * MS, None]))

    assert np.array_equal(found.ttfa, [70, np.nan], equal_nan=True)


def test_tpot_divides_by_the_tokens_behind_the_first_chunk(cell_of):
    # Four chunks of 4 tokens: 30 ms for 12 tokens.
    cell = cell_of(
        [0], gaps_ms=[10] * 3, output_tokens=16, chunk_tokens=np.full(4, 4, np.float32)
    )

    assert latencies(cell).tpot.tolist() == [2.5]


def test_tpot_of_single_tokens_is_over_n_minus_one(cell_of):
    assert latencies(cell_of([0], gaps_ms=[10] * 127)).tpot.tolist() == [10]


def test_tpot_is_undefined_when_nothing_follows_the_first_chunk(cell_of):
    cell = cell_of([0], gaps_ms=[], output_tokens=4, chunk_tokens=np.full(1, 4, np.float32))

    assert np.isnan(latencies(cell).tpot).tolist() == [True]
    assert np.isnan(latencies(cell).max_gap).tolist() == [True]


def test_tpot_is_undefined_when_later_chunks_add_no_tokens(cell_of):
    cell = cell_of([0], gaps_ms=[10], output_tokens=1)

    assert np.isnan(latencies(cell).tpot).tolist() == [True]


def test_the_gap_statistics_are_over_a_requests_own_gaps(cell_of):
    found = latencies(cell_of([0, 0], gaps_ms=[[*range(1, 101)], [7]]))

    assert found.p95_gap.tolist() == [95, 7]
    assert found.max_gap.tolist() == [100, 7]
    assert found.itl("max_gap").tolist() == [100, 7]


def test_an_answer_that_never_came_has_no_latencies(cell_of, without_answers):
    found = latencies(without_answers(cell_of([0, 10]), [0]))

    assert np.isnan([found.ttft[0], found.tpot[0], found.e2e[0], found.client_queue[0]]).all()
    assert found.ttft[1] == 50


@pytest.mark.parametrize(
    ("usage", "tokenizer", "tokens"), [(9, 8, 9), (None, 8, 8), (None, None, 10), (0, 8, 0)]
)
def test_output_tokens_are_the_servers_count_else_a_tokenizers_else_chunks(
    cell_of, usage, tokenizer, tokens
):
    cell = cell_of([0], output_tokens=usage, output_tokenized=tokenizer)

    assert output_tokens(cell).tolist() == [tokens]


def test_the_send_lag_counts_from_the_due_time_or_the_slot_that_came_free_later(cell_of):
    cell = cell_of(
        [0, 0, 0],
        lag_ms=5,
        slot_free_ns=[None, 4 * MS, NULL],
        reconnected=[False, False, True],
    )

    assert np.array_equal(send_lag_ms(cell), [5, 1, np.nan], equal_nan=True)
