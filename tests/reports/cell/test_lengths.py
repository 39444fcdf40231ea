"""Prompts and answers were as long as asked, or the cell says so."""

from __future__ import annotations

import pytest

from reports.cell import CellSettings, Slo
from reports.cell.lengths import (
    length_problems,
    output_lengths,
    output_source,
    prompt_lengths,
)

FORCED = CellSettings(slo=Slo(), arrival="closed")
NATURAL = CellSettings(slo=Slo(), arrival="closed", output="natural")


def concerns(cell, settings=FORCED) -> list[str]:
    found = length_problems(prompt_lengths(cell), output_lengths(cell), cell, settings)
    return [problem.concern.value for problem in found]


def test_lengths_as_asked_are_no_problem(cell_of):
    assert concerns(cell_of(range(10))) == []


@pytest.mark.parametrize(
    ("seen", "fails"), [(1024, False), (1034, False), (1035, True), (1013, True)]
)
def test_prompts_off_by_more_than_a_hundredth_fail_the_cell(cell_of, seen, fails):
    cell = cell_of(range(10), prompt_tokens_asked=1024, prompt_tokens=seen)

    assert concerns(cell) == (["prompt length missed"] if fails else [])


@pytest.mark.parametrize(("seen", "fails"), [(128, False), (127, False), (126, True)])
def test_forced_answers_off_by_more_than_a_hundredth_fail_the_cell(cell_of, seen, fails):
    cell = cell_of(range(10), output_tokens_asked=128, output_tokens=seen)

    assert concerns(cell) == (["output length missed"] if fails else [])


def test_a_few_answers_that_are_much_too_short_fail_the_cell(cell_of):
    cell = cell_of(range(100), output_tokens_asked=128, output_tokens=[100] * 2 + [128] * 98)

    assert concerns(cell) == ["output length missed"]


def test_misses_in_both_directions_do_not_cancel_out(cell_of):
    cell = cell_of(range(10), output_tokens_asked=100, output_tokens=[90] * 5 + [110] * 5)

    assert output_lengths(cell).miss == 0
    assert concerns(cell) == ["output length missed"]


def test_natural_answers_may_end_where_they_like(cell_of):
    assert concerns(cell_of(range(10), output_tokens_asked=128), NATURAL) == []


def test_lengths_from_a_distribution_are_held_against_each_requests_own(cell_of):
    cell = cell_of(range(3), prompt_tokens_asked=[10, 200, 3000], prompt_tokens=[10, 200, 3000])

    assert concerns(cell) == []
    assert prompt_lengths(cell).seen.low == 10
    assert prompt_lengths(cell).seen.mean == 1070
    assert prompt_lengths(cell).seen.high == 3000


def test_without_usage_the_length_is_not_verified_rather_than_missed(cell_of):
    cell = cell_of(range(10), output_tokens_asked=40, output_tokens=None, prompt_tokens=None)

    assert concerns(cell) == ["tokens not reported"]
    assert output_lengths(cell).missed_share is None
    assert prompt_lengths(cell).source == "none"


def test_uncounted_answers_that_say_they_ended_by_themselves_fail_a_forced_cell(cell_of):
    uncounted = {"output_tokens": None, "output_tokens_asked": 128}
    short = cell_of(range(100), finish_reason=["stop"] * 2 + ["length"] * 98, **uncounted)
    few = cell_of(range(100), finish_reason=["stop"] + ["length"] * 99, **uncounted)
    whole = cell_of(range(100), finish_reason="stop", output_tokens=None)

    assert concerns(short) == ["tokens not reported", "output length missed"]
    assert concerns(short, NATURAL) == ["tokens not reported"]
    assert concerns(few) == concerns(whole) == ["tokens not reported"]


def test_a_tokenizer_verifies_the_length_where_usage_is_absent(cell_of):
    cell = cell_of(range(10), output_tokens=None, output_tokenized=5)

    assert concerns(cell) == ["output length missed"]
    assert output_source(cell) == "tokenizer"


def test_usage_that_comes_only_sometimes_is_told(cell_of):
    cell = cell_of(range(4), output_tokens=[10, None, 10, None])

    assert output_source(cell) == "mixed"
    assert concerns(cell) == ["tokens not reported"]


def test_a_tokenizer_that_counts_otherwise_than_the_server_is_told(cell_of):
    assert concerns(cell_of(range(4), output_tokenized=20)) == ["token counts disagree"]


def test_fewer_chunks_than_tokens_are_no_disagreement_but_more_are(cell_of):
    assert concerns(cell_of(range(4), output_chunks=3)) == []
    assert concerns(cell_of(range(4), output_chunks=12)) == ["token counts disagree"]


def test_no_answers_miss_no_length(cell_of):
    assert concerns(cell_of([])) == []
    assert output_source(cell_of([])) == "none"


def test_prompts_of_unknown_length_are_not_judged(cell_of):
    assert concerns(cell_of(range(4), prompt_tokens_asked=None)) == []
