"""What is sent: prompts no cache has seen, of the asked length, in the server's own form."""

from __future__ import annotations

import json

import numpy as np
import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("load")]

CHAT = "/v1/chat/completions"
CACHED = {"engine": {"prefix_cache": True}}


def test_no_prompt_of_a_cell_or_of_its_replications_hits_the_prefix_cache(engine, bench):
    server = engine(**CACHED)

    result = bench(server.url, concurrency=4, replications=2, num_requests=90)

    assert result.code == 0, result.said
    hits = [cell["server"]["prefix_hit_share"] for cell in result.summary["replications"]]
    assert hits == [0.0, 0.0]
    assert "prompts were cached" not in result.summary["problems"]


def test_a_second_run_with_the_same_seed_is_told_to_have_hit_the_cache(engine, bench):
    server = engine(**CACHED)
    bench(server.url, concurrency=4, num_requests=60)

    again = bench(server.url, concurrency=4, num_requests=60)
    other = bench(server.url, concurrency=4, num_requests=60, seed=43)

    assert "prompts were cached" in again.summary["problems"]
    assert again.code == 7
    assert again.summary["server"]["prefix_hit_share"] > 0.5
    assert "another --seed" in again.said
    assert "prompts were cached" not in other.summary["problems"]


def test_a_declared_shared_prefix_hits_the_cache_as_much_as_was_declared(engine, bench):
    server = engine(**CACHED)

    result = bench(
        server.url, concurrency=2, prompt_tokens=160, shared_prefix="50%", num_requests=60
    )

    assert result.summary["server"]["prefix_hit_share"] == pytest.approx(0.5, abs=0.06)
    assert "prompts were cached" not in result.summary["problems"]


def test_a_trace_with_hash_ids_hits_the_cache_as_the_recorded_traffic_did(
    engine, bench, tmp_path
):
    trace = tmp_path / "mooncake.jsonl"
    rows = [
        {
            "timestamp": 60 * i,
            "input_length": 1040,
            "output_length": 4,
            "hash_ids": [0, 1, 2 + i],
        }
        for i in range(40)
    ]
    trace.write_text("\n".join(map(json.dumps, rows)))

    result = bench(
        engine(**CACHED).url,
        trace=trace,
        prompt_tokens=None,
        output_tokens=None,
        num_requests=None,
        warmup_requests=4,
    )

    assert result.summary["server"]["prefix_hit_share"] == pytest.approx(0.96, abs=0.03)
    assert "prompts were cached" not in result.summary["problems"]


def test_lengths_are_drawn_as_asked_and_the_realised_ones_are_shown(engine, bench):
    result = bench(
        engine().url,
        concurrency=8,
        prompt_tokens="uniform:20:200",
        output_tokens="normal:12:4",
        num_requests=150,
    )

    seen = result.summary["lengths"]
    assert seen["prompt"]["seen"] == seen["prompt"]["asked"]
    assert 20 <= seen["prompt"]["seen"]["min"] < 40
    assert 180 < seen["prompt"]["seen"]["max"] <= 200
    assert seen["output"]["seen"]["mean"] == pytest.approx(12, abs=1)
    assert result.summary["verdict"] == "valid", result.said


def test_what_the_server_puts_in_front_of_every_prompt_is_taken_off(engine, bench):
    server = engine(lengths={"prompt_drift_tokens": 5})

    result = bench(server.url, concurrency=4, num_requests=60)

    assert result.summary["prompts"]["overhead_tokens"] == 5
    assert result.summary["lengths"]["prompt"]["seen"]["mean"] == 64
    assert result.summary["verdict"] == "valid", result.said


def test_on_a_chat_endpoint_the_templates_overhead_is_taken_off(engine, bench):
    server = engine(lengths={"chat_overhead_tokens": 23})

    result = bench(server.url + CHAT, concurrency=4, prompt_tokens=100, num_requests=60)

    assert result.summary["lengths"]["prompt"]["seen"] == {"min": 100, "mean": 100, "max": 100}
    assert result.summary["prompts"] == {
        "sent_as": "text",
        "counted": True,
        "overhead_tokens": 23,
        "tokens_per_symbol": 1.0,
    }
    assert result.summary["verdict"] == "valid", result.said


def test_output_that_misses_its_length_voids_the_cell(engine, bench):
    server = engine(lengths={"output_miss_tokens": -3})

    result = bench(server.url, concurrency=4, num_requests=60)

    assert result.summary["verdict"] == "invalid"
    assert "output length missed" in result.summary["problems"]
    assert result.code == 7


def test_natural_output_ends_where_the_model_ends_it(engine, bench):
    server = engine(lengths={"natural_tokens": 6})

    result = bench(
        server.url, concurrency=4, output="natural", output_tokens=64, num_requests=60
    )

    assert result.summary["verdict"] == "valid", result.said
    assert result.summary["lengths"]["output"]["seen"]["mean"] < 20
    assert set(result.columns.finish_reason.tolist()) & {"stop"}


def test_sessions_send_later_turns_after_earlier_answers_and_the_think_time(
    engine, bench, tmp_path
):
    dataset = tmp_path / "chat.json"
    chats = [
        {
            "conversations": [
                {"from": "human", "value": f"question {i} " + "word " * 30},
                {"from": "gpt", "value": "answer " * 10},
                {"from": "human", "value": f"and {i}"},
                {"from": "gpt", "value": "more"},
                {"from": "human", "value": "thanks"},
            ]
        }
        for i in range(60)
    ]
    dataset.write_text(json.dumps(chats))

    result = bench(
        engine(**CACHED).url + CHAT,
        dataset=dataset,
        prompt_tokens=None,
        think_time=30,
        request_rate=12.0,
        num_requests=90,
        warmup_requests=9,
    )

    columns = result.columns
    ends = {
        (session, turn): done
        for session, turn, done in zip(
            columns.session.tolist(),
            columns.turn.tolist(),
            columns.done_ns.tolist(),
            strict=True,
        )
    }
    later = [
        (due - ends[session, turn - 1]) / 1e6
        for session, turn, due in zip(
            columns.session.tolist(),
            columns.turn.tolist(),
            columns.scheduled_ns.tolist(),
            strict=True,
        )
        if turn
    ]
    assert len(later) > 30
    assert later == pytest.approx([30] * len(later), abs=0.01)
    growing = columns.prompt_tokens[columns.turn == 2].min()
    assert growing > np.max(columns.prompt_tokens[columns.turn == 0])
    assert result.summary["requests"]["failed"] == 0
    assert "prompts were cached" not in result.summary["problems"], result.said


def test_several_endpoints_share_the_load(engine, bench):
    one, other = engine(), engine()

    result = bench([one.url, other.url], concurrency=4, num_requests=80)

    counts = np.bincount(result.columns.endpoint)
    assert abs(int(counts[0]) - int(counts[1])) <= 2
    assert result.summary["verdict"] == "valid", result.said
