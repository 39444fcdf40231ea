"""A real vLLM on this CPU: launched from its plan, read back, measured, stopped; failing."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from deploy_templates.plan import LaunchPlan
from flows.errors import LaunchError
from flows.launch.running import Running
from flows.launch.start import launch
from flows.launch.wait import Progress

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("engines")]


def streamed(running: Running) -> tuple[list[str], dict[str, int]]:
    """Texts of one streamed answer, and its usage."""
    connection = http.client.HTTPConnection("127.0.0.1", running.facts.port, timeout=60)
    body = {
        "model": running.facts.served_model,
        "prompt": "able baby cold",
        "max_tokens": 8,
        "temperature": 0,
        "ignore_eos": True,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    headers = {"Content-Type": "application/json"}
    connection.request("POST", "/v1/completions", json.dumps(body), headers)
    lines = connection.getresponse().read().decode().splitlines()
    connection.close()
    chunks = [json.loads(line[6:]) for line in lines if line.startswith("data: {")]
    texts = [chunk["choices"][0]["text"] for chunk in chunks if chunk["choices"]]
    return texts, next(chunk["usage"] for chunk in chunks if chunk.get("usage"))


def test_it_becomes_ready_and_is_what_was_asked_for(vllm):
    facts = vllm.running.facts

    assert facts.models == ("tiny-llama-19m",)
    assert facts.first_token.completion_tokens == 1
    assert facts.differences == ()
    verdicts = {each.variable: each.verdict for each in facts.read_back}
    for variable in ("version", "weights", "max_model_len", "prefix_caching", "seed", "eager"):
        assert verdicts[variable] == "match"
    assert facts.ownership.how == "by process"
    assert not facts.simulation


def test_its_start_is_timed_by_phase_and_the_phases_sum(vllm):
    facts = vllm.running.facts

    assert sum(each.duration_ns or 0 for each in facts.phases) == facts.start_ns
    assert {each.name for each in facts.phases if each.duration_ns is not None} == {
        *(phase.name for phase in vllm.plan.phases),
        "first token",
    }


def test_it_streams_one_request(vllm):
    texts, usage = streamed(vllm.running)

    assert len(texts) == 8
    assert usage == {"prompt_tokens": 3, "completion_tokens": 8, "total_tokens": 11}


def test_its_counters_agree_with_the_clients_sums(vllm_cell):
    cell = vllm_cell
    columns = cell.columns

    assert set(columns.outcome) == {"ok"}
    assert cell.told["requests_finished"] == len(columns)
    assert cell.told["prompt_tokens"] == columns.prompt_tokens.sum()
    assert cell.told["generation_tokens"] == columns.output_tokens.sum()
    assert cell.told["preemptions"] == 0
    assert cell.server["servers"][0]["source"]["release_from"] == "launch plan"


def test_every_answer_says_how_long_it_waited_and_the_histogram_agrees(vllm_cell):
    cell = vllm_cell
    p95 = cell.server["server_queue_time_p95"]
    times = cell.server["servers"][0]["times"]["queue_time"]

    assert p95["method"] == "nearest rank of what each answer said of its wait"
    assert not p95["is_estimate"]
    assert p95["n"] == np.count_nonzero(cell.is_measured)
    assert p95["low"] <= p95["value"] <= cell.ttft_s.max()
    # the histogram also counts the requests that hold the load to the end
    assert times["p50"]["low"] <= cell.server["server_queue_time_mean"]["value"] * 2
    assert times["p99"]["high"] >= p95["value"] or times["p99"]["high"] is None


def test_its_places_are_full_and_four_wait(vllm_cell):
    gauges = vllm_cell.server["servers"][0]["gauges"]

    assert gauges["running"]["most"]["value"] == 2
    assert gauges["waiting"]["most"]["value"] == 4
    assert 0 < gauges["kv_use"]["most"]["value"] < 1
    assert (gauges["waiting"]["before"], gauges["waiting"]["after"]) == (0, 0)


def test_it_goes_when_it_is_asked_to(vllm):
    stopped = vllm.running.stop()

    assert stopped.exit_code == 0
    assert stopped.signals == ("SIGTERM",)
    assert stopped.port_is_free


def failure(
    plan: LaunchPlan, folder: Path, progress: Callable[[Progress], None] = lambda _: None
) -> LaunchError:
    """How the launch of this plan fails."""
    with pytest.raises(LaunchError) as raised:
        launch(plan, folder, environment=os.environ, secrets={}, progress=progress)
    return raised.value


def test_a_folder_without_weights_is_told_by_the_line_that_says_so(vllm_plan, tmp_path):
    empty = tmp_path / "empty"
    empty.mkdir()

    error = failure(vllm_plan(location=empty), tmp_path / "launch")

    assert error.kind == "model not found"


def test_a_length_beyond_the_models_context_is_told_by_the_line_that_says_so(
    vllm_plan, tmp_path
):
    error = failure(vllm_plan(max_model_len=100_000), tmp_path / "launch")

    assert error.kind == "context too long"
    assert "max_model_len" in error.do


def test_a_port_that_is_taken_ends_the_launch_before_it_begins(vllm_plan, tmp_path):
    plan = vllm_plan()
    with socket.create_server(("127.0.0.1", plan.port)):
        error = failure(plan, tmp_path / "launch")

    assert error.kind == "port in use"
    assert str(plan.port) in str(error)


def test_a_server_that_is_killed_while_loading_is_known_to_be_dead(vllm_plan, tmp_path):
    def kill(progress: Progress) -> None:
        record = json.loads((tmp_path / "launch" / "launch.json").read_text())
        if progress.stage == "weights":
            os.kill(record["pid"], signal.SIGKILL)

    error = failure(vllm_plan(), tmp_path / "launch", kill)

    assert "SIGKILL" in error.seen
