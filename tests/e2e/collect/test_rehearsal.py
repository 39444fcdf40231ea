"""The server's account of real load, in the four metric dialects of the rehearsal engine."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from deploy_templates.plan import Metrics
from deploy_templates.runtime_folder import load_runtime_folder
from flows.bench.flags import Flags, cell_spec
from flows.bench.run import measure_cell
from flows.collect.source import Source
from flows.rehearsal import Running, Settings, start

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("load")]

STREAMS, PLACES = 6, 2
PROMPT, OUTPUT = 32, 16
ENGINE = {
    "steps": {"decode_base_ms": 6.0, "prefill_base_ms": 6.0},
    "engine": {"max_num_seqs": PLACES, "prefix_cache": True},
}


@pytest.fixture
def engine(request: pytest.FixtureRequest) -> Iterator[Running]:
    """An engine of this dialect with two places for six streams."""
    with start(Settings.from_json({**ENGINE, **request.param})) as running:
        yield running


def measured(
    engine: Running, folder: Path, *, launched: Source | None = None, requests: int = 60
) -> dict[str, Any]:
    """The server record of one cell; four of its six streams wait at any time."""
    flags = Flags(
        endpoints=[engine.url + "/v1/completions"],
        model="rehearsal",
        prompt_tokens=str(PROMPT),
        output_tokens=str(OUTPUT),
        concurrency=STREAMS,
        num_requests=requests,
        warmup_requests=10,
    )
    files = measure_cell(cell_spec(flags, {}), folder, launched=launched)
    record: dict[str, Any] = json.loads(files.server.read_text())
    return record


@pytest.fixture(scope="module")
def record_of(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], dict[str, Any]]:
    """The record of one cell of an engine of this dialect, measured once for all tests."""

    @cache
    def of(dialect: str) -> dict[str, Any]:
        with start(Settings.from_json({**ENGINE, "dialect": dialect})) as running:
            return measured(running, tmp_path_factory.mktemp(dialect), requests=120)

    return of


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "tensorrt_llm", "llama_server"])
def test_each_dialect_is_found_and_agrees_with_what_the_client_sent(record_of, runtime):
    server = record_of(runtime)["servers"][0]
    sent = server["client"]["requests"]

    assert server["source"]["runtime"] == runtime
    assert server["source"]["basis"] == "simulation"
    waiting = server["gauges"]["waiting"]
    assert (waiting["before"], waiting["after"]) == (0, 0)
    assert waiting["most"]["value"] == STREAMS - PLACES
    assert server["gauges"]["running"]["most"]["value"] == PLACES
    counted = {name: figure["value"] for name, figure in server["counted"].items()}
    expected = {
        "prompt_tokens": sent * PROMPT,
        "generation_tokens": sent * OUTPUT,
        "requests_finished": sent,
    }
    told = {name: count for name, count in counted.items() if name in expected}
    assert told == {name: expected[name] for name in told}
    assert len(told) == {"llama_server": 2, "tensorrt_llm": 1}.get(runtime, 3)


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "tensorrt_llm"])
def test_a_histogram_brackets_the_wait_and_littles_law_agrees_with_its_mean(record_of, dialect):
    record = record_of(dialect)
    p95, mean = record["server_queue_time_p95"], record["server_queue_time_mean"]
    server = record["servers"][0]

    assert p95["value"] is None
    assert 0 < p95["low"] < p95["high"]
    assert p95["n"] <= server["client"]["requests"]
    assert p95["basis"] == "simulation"
    # two of six streams are computed at any time
    assert server["gauges"]["waiting"]["mean"]["value"] == pytest.approx(4.0, abs=0.7)
    assert mean["value"] <= p95["high"]
    assert not mean["is_estimate"]


def test_without_histogram_and_timings_the_mean_is_an_estimate_by_littles_law(record_of):
    record = record_of("llama_server")

    assert record["server_queue_time_p95"] == {
        "value": None,
        "not_available": "not offered by this version",
        "series": None,
    }
    mean = record["server_queue_time_mean"]
    assert mean["is_estimate"]
    assert mean["method"].startswith("estimate by Little's law")
    assert mean["value"] > 0


@pytest.mark.parametrize(
    "engine",
    [{"identity": {"metrics_missing": ["vllm:request_queue_time", "vllm:kv_cache"]}}],
    indirect=True,
)
def test_series_that_the_server_does_not_show_are_named_and_never_zero(engine, tmp_path):
    spec = load_runtime_folder("rehearsal").launch.metrics[0]
    launched = Source(
        metrics=spec.metrics,
        runtime="rehearsal",
        release="1",
        is_known=True,
        is_simulation=True,
    )

    record = measured(engine, tmp_path, launched=launched, requests=30)

    missing = record["servers"][0]["missing"]
    assert missing["kv_use"]["series"] == "vllm:kv_cache_usage_perc"
    assert missing["kv_use"]["value"] is None
    assert "kv_use" not in record["servers"][0]["gauges"]
    assert record["server_queue_time_p95"]["series"] == "vllm:request_queue_time_seconds"
    assert record["server_queue_time_mean"]["is_estimate"]


@pytest.mark.parametrize("engine", [{"identity": {"metrics": False}}], indirect=True)
def test_a_server_without_metrics_leaves_a_record_that_says_so(engine, tmp_path):
    record = measured(engine, tmp_path, requests=30)

    assert record["servers"][0]["source"] is None
    assert "no metrics" in record["servers"][0]["missing"]["waiting"]["not_available"]
    assert record["server_queue_time_p95"]["value"] is None


@pytest.mark.parametrize("engine", [{"dialect": "tensorrt_llm"}], indirect=True)
def test_a_list_of_steps_that_reading_uses_up_is_sampled_too(engine, tmp_path):
    steps: Metrics = next(
        spec.metrics
        for spec in load_runtime_folder("tensorrt_llm").launch.metrics
        if spec.dialect == "iterations"
    )
    launched = Source(
        metrics=steps,
        runtime="tensorrt_llm",
        release="1.3.0rc22",
        is_known=True,
        is_simulation=True,
    )

    server = measured(engine, tmp_path, launched=launched)["servers"][0]

    assert server["gauges"]["running"]["most"]["value"] == PLACES
    assert server["gauges"]["waiting"]["most"]["value"] == STREAMS - PLACES
    assert "requests_finished" in server["missing"]
