"""A contract in numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.schema import Campaign
from catalog.terms import needed_tokens_per_hour, terms_of


def test_mean_and_longest_context_of_fixed_lengths(
    campaign: Callable[..., Campaign], canonical: dict[str, Any]
) -> None:
    terms = terms_of(campaign(canonical))

    assert (terms.mean_context, terms.maximum_context) == (1088, 1152)


def test_ttft_takes_the_percentile_memory_the_mean_and_the_maximum(
    campaign: Callable[..., Campaign], canonical: dict[str, Any]
) -> None:
    lengths = {"prompt_tokens": "uniform:1:1000", "output_tokens": "uniform:100:300"}

    terms = terms_of(campaign(canonical | lengths))

    assert terms.prompt == 950
    assert terms.mean_context == pytest.approx(500.5 + 100, abs=1)
    assert terms.maximum_context == 1300


def test_a_rate_alone_makes_one_stream(
    campaign: Callable[..., Campaign], canonical: dict[str, Any]
) -> None:
    terms = terms_of(campaign({**canonical, "concurrency": None, "rate": "2/s"}))

    assert (terms.kind, terms.streams, terms.streams_stated) == ("rate", 1, False)
    assert terms.rate_per_s == 2


def test_load_points_of_the_matrix_promise_nothing(
    campaign: Callable[..., Campaign], canonical: dict[str, Any]
) -> None:
    terms = terms_of(campaign(canonical, matrix={"rates": ["8/s", "16/s"]}))

    assert terms.rate_per_s is None
    assert terms.load_points_per_s == (8, 16)


def test_a_searched_rate_is_no_load_point(
    campaign: Callable[..., Campaign], canonical: dict[str, Any]
) -> None:
    assert terms_of(campaign(canonical, matrix={"rates": "search"})).load_points_per_s == ()


def test_an_offline_goal_is_a_rate_of_output_tokens(
    campaign: Callable[..., Campaign], canonical: dict[str, Any]
) -> None:
    goal = {"slo": {}, "offline": {"requests": 3600, "deadline": "2 h"}}

    terms = terms_of(campaign(canonical | goal))

    needed = needed_tokens_per_hour(terms)
    assert needed is not None
    assert needed.value == pytest.approx(1800 * 128)
    assert terms.rate_per_s == pytest.approx(0.5)


def test_an_interactive_contract_needs_no_tokens_per_hour(
    campaign: Callable[..., Campaign], canonical: dict[str, Any]
) -> None:
    assert needed_tokens_per_hour(terms_of(campaign(canonical))) is None
