"""The four metric dialects, read as a monitoring system reads them."""

from __future__ import annotations

import time

import pytest
from prometheus_client.parser import text_string_to_metric_families


def scraped(client, path="/metrics"):
    """Sample name (with finished_reason or le) → value."""
    seen = client.ask("GET", path)
    assert seen.status == 200
    assert seen.headers["content-type"].startswith("text/plain; version=0.0.4")
    values = {}
    for family in text_string_to_metric_families(seen.body.decode()):
        for sample in family.samples:
            extra = sample.labels.get("finished_reason") or sample.labels.get("le")
            values[sample.name + (f"|{extra}" if extra else "")] = sample.value
    return values


RUNNING_AND_WAITING = {
    "vllm": ("/metrics", "vllm:num_requests_running", "vllm:num_requests_waiting"),
    "sglang": ("/metrics", "sglang:num_running_reqs", "sglang:num_queue_reqs"),
    "tensorrt_llm": (
        "/prometheus/metrics",
        "trtllm_num_requests_running",
        "trtllm_num_requests_waiting",
    ),
    "llama_server": (
        "/metrics",
        "llamacpp:requests_processing",
        "llamacpp:requests_deferred",
    ),
}


@pytest.mark.parametrize("dialect", RUNNING_AND_WAITING)
def test_running_and_waiting_requests_show_in_each_dialect(serve, connect, dialect):
    path, running, waiting = RUNNING_AND_WAITING[dialect]
    server = serve(dialect=dialect, engine={"max_num_seqs": 2}, steps={"decode_base_ms": 5000})
    for _ in range(3):
        client = connect(server)
        client.send("POST", "/v1/completions", {"prompt": [1], "stream": True})
        client.read(until=b"\r\n\r\n")

    values = _eventually(connect(server), path, running, 2)
    assert values[waiting] == 1


@pytest.mark.parametrize("dialect", RUNNING_AND_WAITING)
def test_an_idle_server_shows_zeroes_before_and_after(serve, connect, dialect):
    path, running, waiting = RUNNING_AND_WAITING[dialect]
    client = connect(serve(dialect=dialect))

    before = scraped(client, path)
    client.stream()
    after = scraped(client, path)

    assert [before[running], before[waiting]] == [0, 0]
    assert [after[running], after[waiting]] == [0, 0]


def test_vllm_counts_tokens_requests_and_latencies(serve, connect):
    client = connect(serve())
    for _ in range(3):
        client.stream(prompt=[1] * 10, max_tokens=5)

    values = scraped(client)
    assert values["vllm:prompt_tokens_total"] == 30
    assert values["vllm:generation_tokens_total"] == 15
    assert values["vllm:request_success_total|length"] == 3
    assert values["vllm:time_to_first_token_seconds_count"] == 3
    assert values["vllm:inter_token_latency_seconds_count"] == 12
    assert values["vllm:inter_token_latency_seconds_bucket|+Inf"] == 12
    assert values["vllm:request_queue_time_seconds_count"] == 3
    assert values["vllm:e2e_request_latency_seconds_count"] == 3
    assert values["vllm:inter_token_latency_seconds_sum"] > 0.0239


def test_sglang_counts_tokens_and_requests(serve, connect):
    client = connect(serve(dialect="sglang"))
    client.stream(prompt=[1] * 10, max_tokens=5)

    values = scraped(client)
    assert values["sglang:prompt_tokens_total"] == 10
    assert values["sglang:generation_tokens_total"] == 5
    assert values["sglang:num_requests_total"] == 1
    assert values["sglang:queue_time_seconds_count"] == 1


def test_llama_server_counts_tokens_and_reads_zero_rates(serve, connect):
    client = connect(serve(dialect="llama_server"))
    client.stream(prompt=[1] * 10, max_tokens=5)

    values = scraped(client)
    assert values["llamacpp:prompt_tokens_total"] == 10
    assert values["llamacpp:tokens_predicted_total"] == 5
    assert values["llamacpp:tokens_predicted_seconds_total"] == pytest.approx(0.008)
    assert values["llamacpp:predicted_tokens_seconds"] == 0


def test_tensorrt_llm_statistics_are_consumed_on_read(serve, connect):
    client = connect(serve(dialect="tensorrt_llm"))
    client.stream()

    first = client.ask("GET", "/metrics").json
    assert first[0]["numActiveRequests"] == 0
    assert first[0]["kvCacheStats"]["maxNumBlocks"] == 32768
    assert client.ask("GET", "/metrics").json == []


def test_preemptions_are_counted(serve, connect):
    server = serve(engine={"kv_blocks": 12, "block_tokens": 4, "max_num_seqs": 4})
    clients = [connect(server) for _ in range(4)]
    for number, client in enumerate(clients):
        client.send(
            "POST",
            "/v1/completions",
            {"prompt": [number] * 4, "max_tokens": 40, "stream": True, "ignore_eos": True},
        )
    texts = [client.read().texts for client in clients]

    assert [len(t) for t in texts] == [40] * 4
    assert scraped(connect(server))["vllm:num_preemptions_total"] > 0
    assert sum(r.preemptions for r in server.truth().requests) > 0


def test_foreign_requests_run_without_any_connection_of_ours(serve, connect):
    server = serve(foreign={"streams": 3, "output_tokens": 5})
    client = connect(server)

    values = _eventually(client, "/metrics", "vllm:num_requests_running", 3)
    assert values["vllm:num_requests_waiting"] == 0
    assert len(client.stream().texts) == 4
    assert len(server.truth().requests) == 1


def test_foreign_requests_can_come_later(serve, connect):
    client = connect(serve(foreign={"streams": 2, "after_s": 0.2}))

    assert scraped(client)["vllm:num_requests_running"] == 0
    _eventually(client, "/metrics", "vllm:num_requests_running", 2)


def test_series_can_be_missing(serve, connect):
    client = connect(serve(identity={"metrics_missing": ["vllm:num_requests_", "vllm:kv"]}))

    values = scraped(client)
    assert "vllm:num_requests_running" not in values
    assert "vllm:kv_cache_usage_perc" not in values
    assert values["vllm:num_preemptions_total"] == 0


@pytest.mark.parametrize("dialect", RUNNING_AND_WAITING)
def test_a_server_can_be_without_metrics(serve, connect, dialect):
    client = connect(serve(dialect=dialect, identity={"metrics": False}))

    assert client.ask("GET", RUNNING_AND_WAITING[dialect][0]).status == 404


@pytest.mark.parametrize(
    ("dialect", "path", "key"),
    [
        ("vllm", "/version", "version"),
        ("sglang", "/server_info", "max_running_requests"),
        ("tensorrt_llm", "/version", "version"),
        ("llama_server", "/props", "total_slots"),
    ],
)
def test_each_dialect_has_its_own_page_about_itself(serve, connect, dialect, path, key):
    assert key in connect(serve(dialect=dialect)).ask("GET", path).json


def test_llama_server_has_no_version_page(serve, connect):
    assert connect(serve(dialect="llama_server")).ask("GET", "/version").status == 404


def test_vllm_reports_its_cache_configuration(serve, connect):
    text = connect(serve(engine={"kv_blocks": 77})).ask("GET", "/metrics").body.decode()

    assert 'num_gpu_blocks="77"' in text


@pytest.mark.parametrize(
    ("dialect", "path", "name"),
    [("sglang", "/server_info", "dtype"), ("llama_server", "/props", "n_ctx_slot")],
)
def test_a_server_can_report_what_is_not_true(serve, connect, dialect, path, name):
    client = connect(serve(dialect=dialect, identity={"reported": {name: "float16"}}))

    assert client.ask("GET", path).json[name] == "float16"


def test_vllm_can_report_another_cache_than_it_has(serve, connect):
    client = connect(serve(identity={"reported": {"cache_dtype": "fp8"}}))

    assert 'cache_dtype="fp8"' in client.ask("GET", "/metrics").body.decode()


def _eventually(client, path, name, value):
    deadline = time.monotonic() + 5
    while (values := scraped(client, path))[name] != value:
        assert time.monotonic() < deadline, values
        time.sleep(0.01)
    return values
