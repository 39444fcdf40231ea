"""A cell's plan files hold what its description asks for."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from flows.bench.lengths import flag_lengths, sample
from flows.bench.planning import common_share, write_plans
from flows.bench.probe import Survey
from flows.errors import UsageError
from flows.load.draws import Purpose, generator
from flows.load.plan import read_plan
from flows.load.prompts import token_ids, words

IDS = Survey(alphabet=token_ids(1000, 10_999))


def planned(spec, folder, survey=IDS, count_tokens=None):
    folder.mkdir(exist_ok=True)
    cell = write_plans(spec, survey, folder, count_tokens)
    return cell, [read_plan(path) for path in cell.paths]


def bodies(plan):
    return [json.loads(request.body) for request in plan.requests]


def test_a_closed_cell_has_no_times_and_enough_requests_to_hold_the_load(spec_of, tmp_path):
    cell, (plan,) = planned(spec_of(num_requests=50, warmup_requests=10), tmp_path)

    assert plan.header.arrival == "closed"
    assert plan.header.concurrency == 4
    assert (plan.header.warmup.requests, plan.header.measured_requests) == (10, 40)
    assert len(plan.requests) == 50 + 3 * 4
    assert {request.at_ns for request in plan.requests} == {None}
    assert cell.requests == 50


def test_an_open_cell_is_drawn_beyond_the_last_measured_request_for_as_long_as_it_may_take(
    spec_of, tmp_path
):
    spec = spec_of(
        request_rate=8.0, num_requests=250, warmup_requests=50, ttft_slo_ms=1000, itl_slo_ms=25
    )

    _, (plan,) = planned(spec, tmp_path)

    last_measured_ns = plan.requests[249].at_ns
    assert plan.header.measured_requests == 200
    assert plan.requests[-1].at_ns - last_measured_ns > 2 * (1.0 + 128 * 0.025) * 1e9
    assert plan.header.offered_rate == 8.0
    assert plan.header.concurrency is None


def test_a_cell_by_duration_is_drawn_long_enough(spec_of, tmp_path):
    cell, (plan,) = planned(spec_of(request_rate=50.0, duration_s=20.0), tmp_path)

    assert plan.header.duration_s == 20.0
    assert plan.header.measured_requests is None
    assert plan.requests[-1].at_ns > (100 / 50 + 20) * 1e9
    assert cell.requests is None


def test_a_closed_cell_by_duration_holds_more_than_the_fastest_streams_could_send(
    spec_of, tmp_path
):
    survey = replace(IDS, single_s=0.5)

    _, (plan,) = planned(spec_of(concurrency=8, duration_s=10.0), tmp_path, survey)

    assert len(plan.requests) >= 100 + 8 * 10 / 0.5


def test_every_prompt_has_its_length_and_its_own_start(spec_of, tmp_path):
    spec = spec_of(prompt_tokens="uniform:20:60", output_tokens="uniform:5:9")
    _, (plan,) = planned(spec, tmp_path)

    prompts = [body["prompt"] for body in bodies(plan)]
    assert [len(prompt) for prompt in prompts] == [r.prompt_tokens for r in plan.requests]
    assert [b["max_tokens"] for b in bodies(plan)] == [r.output_tokens for r in plan.requests]
    assert len({tuple(prompt[:16]) for prompt in prompts}) == len(prompts)
    assert {r.prompt_tokens for r in plan.requests} <= set(range(20, 61))


def test_warmup_covers_the_whole_distribution_of_lengths():
    lengths = flag_lengths("--prompt-tokens", "uniform:100:1099")
    drawn = sample(lengths, 500, spread_over=50, rng=generator(42, 0, Purpose.PROMPT_LENGTHS))

    assert sorted((length - 100) // 20 for length in drawn[:50]) == list(range(50))
    assert np.mean(drawn[50:]) == pytest.approx(600, rel=0.1)


def test_replications_ask_something_new_and_candidates_the_same(spec_of, tmp_path):
    spec = spec_of(prompt_tokens="32", output_tokens="normal:64:8")
    _, (first,) = planned(spec, tmp_path / "a")
    _, (again,) = planned(spec, tmp_path / "b")
    _, (second,) = planned(replace(spec, replication=1), tmp_path / "c")

    assert first.requests == again.requests
    starts = [tuple(body["prompt"][:16]) for plan in (first, second) for body in bodies(plan)]
    assert len(set(starts)) == len(first.requests) + len(second.requests)


def test_the_probes_overhead_is_taken_off_the_requested_length(spec_of, tmp_path):
    survey = Survey(alphabet=words(), overhead_tokens=11.0, tokens_per_symbol=1.25)

    _, (plan,) = planned(spec_of(prompt_tokens="1011"), tmp_path, survey)

    assert {len(body["prompt"].split()) for body in bodies(plan)} == {800}
    assert plan.requests[0].prompt_tokens == 1011


def test_a_shared_prefix_stands_before_the_unique_start_and_its_share_is_declared(
    spec_of, tmp_path
):
    spec = spec_of(prompt_tokens="100", shared_prefix="75%")

    cell, (plan,) = planned(spec, tmp_path)

    prompts = [body["prompt"] for body in bodies(plan)]
    assert len({tuple(prompt[:75]) for prompt in prompts}) == 1
    assert len({tuple(prompt[75:]) for prompt in prompts}) == len(prompts)
    assert cell.shared_share == pytest.approx(0.75, rel=0.01)


def test_several_endpoints_share_the_load_in_turn(spec_of, tmp_path):
    urls = [f"http://127.0.0.1:{port}/v1/completions" for port in (8001, 8002, 8003)]

    _, (plan,) = planned(spec_of(endpoints=urls, num_requests=300), tmp_path)

    assert Counter(r.endpoint for r in plan.requests) == {0: 104, 1: 104, 2: 104}


def test_plan_files_are_for_their_owner_alone_because_they_carry_keys(spec_of, tmp_path):
    cell, _ = planned(spec_of(api_key_env="KEY"), tmp_path)

    assert [path.stat().st_mode & 0o777 for path in cell.paths] == [0o600]


def test_the_load_behind_the_measured_requests_is_bounded_by_their_number(spec_of, tmp_path):
    def drawn(**flags):
        given = {"prompt_tokens": "2", "output_tokens": "2", "warmup_requests": 0, **flags}
        return planned(spec_of(**given), tmp_path)[1][0].requests

    assert len(drawn(request_rate=2000.0, num_requests=500)) == 500 + 500
    assert len(drawn(request_rate=2000.0, num_requests=20)) == 20 + 128
    assert len(drawn(request_rate=2.0, num_requests=200)) == 200 + 107  # 30 s and six sigma


# shards


def test_poisson_shards_are_streams_of_their_own_that_measure_the_same_window(
    spec_of, tmp_path
):
    spec = spec_of(request_rate=40.0, num_requests=250, warmup_requests=50, shards=3)

    cell, plans = planned(spec, tmp_path)

    assert [plan.header.shard for plan in plans] == [0, 1, 2]
    assert sum(plan.header.warmup.requests for plan in plans) == 50
    assert sum(plan.header.measured_requests for plan in plans) == 200
    sequences = sorted(r.sequence for plan in plans for r in plan.requests)
    assert sequences == list(range(len(sequences)))
    starts = [plan.requests[plan.header.warmup.requests].at_ns for plan in plans]
    ordered = sorted(r.at_ns for plan in plans for r in plan.requests)
    assert min(starts) == ordered[50]
    assert cell.offered_rate == 40.0
    assert plans[0].header.offered_rate == pytest.approx(40 / 3)


def test_shards_of_a_closed_loop_divide_the_streams(spec_of, tmp_path):
    _, plans = planned(spec_of(concurrency=5, shards=2), tmp_path)

    assert [plan.header.concurrency for plan in plans] == [3, 2]


def test_more_shards_than_measured_requests_is_an_error(spec_of, tmp_path):
    spec = spec_of(request_rate=5.0, num_requests=12, warmup_requests=10, shards=8)

    with pytest.raises(UsageError, match="has nothing to measure"):
        planned(spec, tmp_path)


# traces

TRACE = [
    {"timestamp": 1000, "input_length": 1030, "output_length": 7, "hash_ids": [1, 2, 3]},
    {"timestamp": 1500, "input_length": 1100, "output_length": 8, "hash_ids": [1, 2, 4]},
    {"timestamp": 3000, "input_length": 300, "output_length": 9, "hash_ids": [9]},
]


@pytest.fixture
def trace(tmp_path):
    path = tmp_path / "trace.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in TRACE))
    return path


def test_a_trace_gives_times_lengths_and_shared_blocks(spec_of, tmp_path, trace):
    spec = spec_of(trace=trace, warmup_requests=1)

    cell, (plan,) = planned(spec, tmp_path)

    assert [r.at_ns for r in plan.requests] == [0, 500_000_000, 2_000_000_000]
    assert [r.output_tokens for r in plan.requests] == [7, 8, 9]
    prompts = [body["prompt"] for body in bodies(plan)]
    assert [len(prompt) for prompt in prompts] == [1030, 1100, 300]
    assert prompts[0][:1024] == prompts[1][:1024]
    assert prompts[0][1024:] != prompts[1][1024:1030]
    assert cell.shared_share == pytest.approx(1024 / 2430)
    assert (plan.header.warmup.requests, plan.header.measured_requests) == (1, 2)


def test_a_rate_stretches_a_traces_time(spec_of, tmp_path, trace):
    cell, (plan,) = planned(spec_of(trace=trace, warmup_requests=0, request_rate=4.0), tmp_path)

    assert [r.at_ns for r in plan.requests] == [0, 125_000_000, 500_000_000]
    assert cell.offered_rate == 4.0


def test_fewer_requests_than_a_trace_holds_leave_the_rest_to_hold_the_load(
    spec_of, tmp_path, trace
):
    _, (plan,) = planned(spec_of(trace=trace, warmup_requests=0, num_requests=2), tmp_path)

    assert plan.header.measured_requests == 2
    assert len(plan.requests) == 3


def test_a_trace_that_is_too_short_says_so(spec_of, tmp_path, trace):
    with pytest.raises(UsageError, match="needs 9 requests and the file holds 3"):
        planned(spec_of(trace=trace, warmup_requests=0, num_requests=9), tmp_path)
    with pytest.raises(UsageError, match="leave nothing to measure"):
        planned(spec_of(trace=trace, warmup_requests=3), tmp_path)


# datasets

CHAT = [
    {
        "conversations": [
            {"from": "human", "value": f"question {i} one"},
            {"from": "gpt", "value": "recorded answer of five"},
            {"from": "human", "value": f"question {i} two"},
        ]
    }
    for i in range(40)
]


@pytest.fixture
def dataset(tmp_path):
    path = tmp_path / "chat.json"
    path.write_text(json.dumps(CHAT))
    return path


CHAT_URL = "http://127.0.0.1:8000/v1/chat/completions"


def chat_spec(spec_of, dataset, **flags):
    usual = {"num_requests": 30, "warmup_requests": 4, "concurrency": 2}
    return spec_of(dataset=dataset, **{"endpoints": [CHAT_URL], **usual, **flags})


def test_sessions_send_later_turns_with_history_after_the_think_time(
    spec_of, tmp_path, dataset
):
    spec = chat_spec(spec_of, dataset, think_time_ms=250.0)

    _, (plan,) = planned(spec, tmp_path)

    first, second = plan.requests[:2]
    assert (first.session, first.turn, first.think_ns) == (0, 0, 0)
    assert (second.session, second.turn, second.think_ns) == (0, 1, 250_000_000)
    messages = json.loads(second.body)["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "user"]
    assert messages[:1] == json.loads(first.body)["messages"]
    assert messages[1]["content"] == "recorded answer of five"


def test_sessions_of_an_open_loop_have_times_for_first_turns_only(spec_of, tmp_path, dataset):
    spec = chat_spec(spec_of, dataset, concurrency=None, request_rate=3.0)

    _, (plan,) = planned(spec, tmp_path)

    assert all((r.at_ns is None) == (r.turn == 1) for r in plan.requests)
    first_turns = [r.at_ns for r in plan.requests if r.turn == 0]
    assert all(earlier <= later for earlier, later in pairwise(first_turns))


def test_replications_of_a_dataset_use_no_session_twice(spec_of, tmp_path, dataset):
    spec = chat_spec(spec_of, dataset)
    _, (first,) = planned(spec, tmp_path / "a")
    _, (second,) = planned(replace(spec, replication=1), tmp_path / "b")

    asked = [json.loads(r.body)["messages"][0]["content"] for r in first.requests]
    asked_later = [json.loads(r.body)["messages"][0]["content"] for r in second.requests]
    assert not set(asked) & set(asked_later)


def test_a_dataset_that_is_used_up_says_so(spec_of, tmp_path, dataset):
    spec = replace(chat_spec(spec_of, dataset), replication=2)

    with pytest.raises(UsageError, match="this replication has not used"):
        planned(spec, tmp_path)


def test_history_is_declared_as_shared_so_that_its_cache_hits_are_no_surprise(
    spec_of, tmp_path, dataset
):
    cell, _ = planned(chat_spec(spec_of, dataset), tmp_path)

    assert 0.25 < cell.shared_share < 0.6


def test_a_tokenizer_gives_recorded_answers_and_text_prompts_their_lengths(
    spec_of, tmp_path, dataset
):
    spec = chat_spec(spec_of, dataset, endpoints=["http://127.0.0.1/v1/completions"])

    _, (plan,) = planned(spec, tmp_path, IDS, lambda text: len(text.split()))

    first, second = plan.requests[:2]
    assert first.output_tokens == 4
    assert first.prompt_tokens == len(json.loads(first.body)["prompt"].split())
    assert second.output_tokens == 128  # nothing was recorded after the last question


def test_a_common_start_counts_once_for_all_who_have_it():
    assert common_share(["abcd", "abxy", "abcz"]) == (2 + 3) / 12
    assert common_share(["one", "two"]) == 0.0
    assert common_share(["same", "same"]) == 0.5
