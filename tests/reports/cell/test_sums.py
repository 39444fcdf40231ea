"""No request is lost, counted twice, or answered before it was asked."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.cell import CellSettings, Observed, Slo
from reports.cell.sums import FAILED, OUTCOMES, request_counts, sum_problems

CLOSED = CellSettings(slo=Slo(), arrival="closed")
MS = 1_000_000


def seen(columns, settings=CLOSED, *, complete=True) -> str:
    found = sum_problems(columns, settings, Observed(complete=complete))
    return "; ".join(problem.seen for problem in found)


def test_an_honest_cell_adds_up(cell_of, without_answers):
    assert seen(without_answers(cell_of(range(20)), [3, 4])) == ""
    assert seen(cell_of([])) == ""


@given(
    ended=st.lists(
        st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(["warmup", "measured", "drain"])),
        max_size=40,
    )
)
def test_the_sums_hold_for_every_mix_of_outcomes_and_phases(cell_of, ended):
    outcomes, phases = [outcome for outcome, _ in ended], [phase for _, phase in ended]
    counts = request_counts(cell_of(range(len(ended)), outcome=outcomes, phase=phases))

    assert counts["planned"] == len(ended)
    assert counts["planned"] == counts["sent"] + counts["not_sent"]
    assert counts["planned"] == counts["warmup"] + counts["measured"] + counts["drain"]
    assert counts["sent"] == sum(
        counts[name] for name in ("ok", "failed", "truncated", "timed_out", "cancelled")
    )
    assert counts["failed"] == sum(outcomes.count(name) for name in FAILED)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"outcome": "retried"}, "2 requests have an unknown outcome"),
        ({"sequence": [0, 0]}, "1 requests are on record twice"),
        ({"sent_ns": [None, 5]}, "1 requests have an answer but were never sent"),
        ({"outcome": ["ok", "not_sent"]}, "1 requests were sent and also not sent"),
        ({"done_ns": [None, 10**9]}, "1 requests were sent and have no end"),
        ({"first_token_ns": [None, 50 * MS]}, "1 requests succeeded without a first token"),
        ({"scheduled_ns": [99 * MS, 0]}, "1 requests were sent before they were due"),
        ({"done_ns": [10 * MS, 10**9]}, "1 requests have times out of order"),
        ({"first_byte_ns": [10**9, 0]}, "1 requests have times out of order"),
    ],
)
def test_what_cannot_be_is_told(cell_of, changes, sentence):
    assert sentence in seen(cell_of([0, 0], **changes))


def test_the_same_sequence_in_another_shard_is_another_request(cell_of):
    assert seen(cell_of([0, 0], sequence=[0, 0], shard=[0, 1])) == ""


def test_a_client_that_lost_the_cpu_behind_its_write_is_not_a_contradiction(cell_of):
    assert seen(cell_of([0], sent_ns=[52 * MS])) == ""


def test_a_failure_without_times_is_not_a_contradiction(cell_of, without_answers):
    cell = without_answers(cell_of(range(4)), [1], "failed_http")

    assert seen(cell) == ""


def test_a_refusal_before_the_request_was_written_is_not_a_contradiction(cell_of):
    assert seen(cell_of([0], outcome="failed_http", sent_ns=None)) == ""


@pytest.mark.parametrize(
    ("planned", "complete", "sentence"),
    [
        (3, True, ""),
        (5, True, "3 requests are on record, 5 were planned"),
        (5, False, ""),
        (2, False, "3 requests are on record, 2 were planned"),
        (None, True, ""),
    ],
)
def test_requests_on_record_are_those_that_were_planned(cell_of, planned, complete, sentence):
    cell = cell_of(range(5), phase=["warmup", "measured", "measured", "drain", "drain"])
    settings = CellSettings(slo=Slo(), arrival="closed", planned_requests=planned)

    assert seen(cell, settings, complete=complete) == sentence


def test_counts_of_many_requests_are_whole_numbers(cell_of):
    counts = request_counts(cell_of(np.arange(1000)))

    assert all(type(count) is int for count in counts.values())
