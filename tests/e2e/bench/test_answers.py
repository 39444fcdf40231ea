"""What comes back: shapes of streams, and failures that look like success."""

from __future__ import annotations

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("load")]

CHAT = "/v1/chat/completions"
FEW = {"concurrency": 4, "num_requests": 70, "warmup_requests": 10}


@pytest.mark.parametrize(
    "shape",
    [
        {"usage": "last_choice"},
        {"usage": "continuous"},
        {"usage": "always", "usage_null": True, "finish_chunk": "separate"},
        {"empty_first_chunk": True, "first_chunk_at": "arrival", "line_end": "crlf"},
    ],
    ids=lambda shape: next(iter(shape)) + "-" + str(next(iter(shape.values()))),
)
def test_streams_of_every_shape_give_the_same_counts(engine, bench, shape):
    result = bench(engine(stream=shape).url, **FEW)

    summary = result.summary
    assert summary["requests"]["ok"] == summary["requests"]["planned"]
    assert summary["lengths"]["output"]["seen"]["mean"] == 16
    assert summary["verdict"] == "valid", result.said


def test_several_tokens_per_chunk_are_longer_gaps_and_the_same_tpot(engine, bench):
    one = bench(engine().url, **FEW)
    four = bench(engine(stream={"tokens_per_chunk": 4}).url, **FEW)

    assert four.summary["itl_ms"]["p50"] > 3 * one.summary["itl_ms"]["p50"]
    assert four.summary["tpot_ms"]["p50"] == pytest.approx(
        one.summary["tpot_ms"]["p50"], rel=0.35
    )
    assert four.summary["tokens"]["output"] == 60 * 16


def test_without_usage_the_counts_source_is_told(engine, bench):
    result = bench(engine(stream={"usage": "never"}).url, **FEW)

    assert result.summary["tokens"]["source"] == "chunks"
    assert "tokens not reported" in result.summary["problems"]


def test_reasoning_is_the_first_token_and_the_answer_comes_later(engine, bench):
    server = engine(stream={"reasoning_tokens": 8, "role_content": "null"})

    result = bench(server.url + CHAT, **FEW)

    first, answer = result.summary["ttft_ms"]["p50"], result.summary["ttfa_ms"]["p50"]
    assert answer > first + 7 * 3


@pytest.mark.parametrize(
    ("failure", "outcome"),
    [
        ({"kind": "status", "status": 429}, "failed_http"),
        ({"kind": "status", "status": 503, "body": "html"}, "failed_http"),
        ({"kind": "error", "at_token": 5}, "failed_in_band"),
        ({"kind": "error", "at_token": 0, "as_event": True}, "failed_in_band"),
        ({"kind": "reset", "at_token": 5}, "failed_reset"),
        ({"kind": "close", "at_token": 5}, "failed_reset"),
        ({"kind": "truncate", "at_token": 5}, "truncated"),
    ],
    ids=lambda value: value if isinstance(value, str) else value["kind"],
)
def test_a_failure_is_counted_by_its_kind_and_no_request_is_lost(
    engine, bench, failure, outcome
):
    server = engine(rules=[{"every": 5, "after": 12, "failure": failure}])

    result = bench(server.url, **FEW)

    requests = result.summary["requests"]
    assert requests[outcome] > 5
    ended = ("ok", "failed", "truncated", "timed_out", "cancelled")
    assert requests["sent"] == sum(requests[name] for name in ended)
    assert requests["planned"] == requests["sent"] + requests["not_sent"]
    assert result.summary["ttft_with_failures_ms"]["p95"] is None
    assert result.summary["ttft_ms"]["p95"] is not None
    assert result.summary["goodput"]["tpot"]["share"] < 0.9
    assert "∞" in result.said


def test_a_server_that_hangs_ends_by_the_timeout(engine, bench):
    server = engine(rules=[{"requests": [30], "failure": {"kind": "hang", "at_token": 3}}])

    result = bench(server.url, timeout=2, **FEW)

    assert result.summary["requests"]["timed_out"] == 1
    assert result.summary["goodput"]["tpot"]["compliant"] <= 59


def test_answers_that_end_early_with_a_reason_void_the_forced_length(engine, bench):
    server = engine(rules=[{"every": 3, "failure": {"kind": "stop", "at_token": 6}}])

    result = bench(server.url, **FEW)

    assert result.summary["verdict"] == "invalid"
    assert "output length missed" in result.summary["problems"]


def test_a_server_that_closes_after_each_stream_loses_nothing(engine, bench):
    server = engine(connection={"close_after_stream": True})

    result = bench(server.url, **{**FEW, "concurrency": 16})

    requests = result.summary["requests"]
    assert requests["ok"] == requests["planned"]
    assert result.summary["verdict"] == "valid", result.said


def test_one_hundred_thousand_token_answers_arrive_whole(engine, bench):
    server = engine(
        stream={"tokens_per_chunk": 500},
        steps={"decode_base_ms": 0.01, "decode_per_sequence_ms": 0.0, "prefill_base_ms": 1.0},
        engine={"max_model_len": 131072, "tokens_per_step": 64, "max_num_seqs": 4},
    )

    result = bench(
        server.url,
        concurrency=1,
        output_tokens=100_000,
        num_requests=3,
        warmup_requests=1,
        timeout=60,
    )

    assert result.summary["requests"]["ok"] == result.summary["requests"]["planned"]
    assert result.summary["lengths"]["output"]["seen"]["min"] == 100_000


def test_chunks_that_arrive_in_bunches_are_told_to_hide_the_gaps(engine, bench):
    server = engine(wire={"bunch_ms": 60.0})

    result = bench(server.url, **{**FEW, "output_tokens": 48})

    assert "ITL not observable here" in result.summary["problems"]
    assert result.summary["itl_ms"]["p50"] is None
