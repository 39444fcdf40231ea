"""The server's pages, refusals, lengths and counters, asked over its socket."""

from __future__ import annotations

import json
import time

import pytest


def test_health_models_and_version_answer(serve, connect):
    client = connect(serve(model="llama", identity={"version": "1.2.3"}))

    assert client.ask("GET", "/health").status == 200
    model = client.ask("GET", "/v1/models").json["data"][0]
    assert (model["id"], model["max_model_len"]) == ("llama", 131072)
    assert client.ask("GET", "/version").json == {"version": "1.2.3"}


def test_head_gives_the_headers_of_get(serve, connect):
    client = connect(serve())
    client.send("HEAD", "/health")

    seen = client.read(until=b"\r\n\r\n")

    assert int(seen.headers["content-length"]) > 0
    assert seen.body == b""


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/nowhere", 404),
        ("GET", "/v1/completions", 405),
        ("POST", "/health", 405),
        ("POST", "/v1/embeddings", 404),
    ],
)
def test_wrong_paths_and_methods_get_an_error_object(serve, connect, method, path, status):
    seen = connect(serve()).ask(method, path, {"a": 1} if method == "POST" else None)

    assert seen.status == status
    assert seen.json["error"]["message"]


def test_bytes_that_are_not_http_get_400_and_an_end(serve, connect):
    client = connect(serve())
    client.socket.sendall(b"\x16\x03\x01 this is TLS\r\n\r\n")

    seen = client.read()

    assert (seen.status, seen.ended) == (400, "open")
    assert client.read().ended == "eof"


def test_a_key_is_required_for_the_api_and_not_for_health(serve, connect):
    client = connect(serve(identity={"api_key": "s3cret"}))

    assert client.ask("GET", "/v1/models").status == 401
    assert client.ask("GET", "/v1/models", authorization="Bearer no").status == 401
    assert client.ask("GET", "/v1/models", authorization="Bearer s3cret").status == 200
    assert client.stream().json["error"]["code"] == "invalid_api_key"
    assert client.ask("GET", "/health").status == 200
    assert client.ask("GET", "/metrics").status == 200


def test_another_models_name_is_accepted_or_404(serve, connect):
    lax = connect(serve(model="a"))
    strict = connect(serve(model="a", identity={"other_models": "404"}))

    assert lax.stream(model="b").status == 200
    refused = strict.stream(model="b")
    assert refused.status == 404
    assert refused.json["error"]["code"] == "model_not_found"
    assert strict.stream(model="a").status == 200


def test_the_list_of_models_can_lack_the_served_one(serve, connect):
    seen = connect(serve(identity={"models": ["other"]})).ask("GET", "/v1/models")

    assert [model["id"] for model in seen.json["data"]] == ["other"]


def test_the_reported_context_length_can_differ_from_the_true_one(serve, connect):
    client = connect(
        serve(identity={"reported_max_model_len": 8192}, engine={"max_model_len": 64})
    )

    assert client.ask("GET", "/v1/models").json["data"][0]["max_model_len"] == 8192
    assert client.stream(max_tokens=61).status == 400
    assert client.stream(max_tokens=60).status == 200


def test_a_request_beyond_the_kv_cache_is_refused_at_once(serve, connect):
    client = connect(serve(engine={"kv_blocks": 2, "block_tokens": 16}))

    refused = client.stream(max_tokens=40)

    assert refused.status == 400
    assert refused.json["error"]["code"] == "context_length_exceeded"
    assert "at most 32" in refused.json["error"]["message"]


def test_a_full_queue_is_answered_429(serve, connect):
    server = serve(engine={"max_num_seqs": 1, "queue_limit": 1}, steps={"decode_base_ms": 1000})
    clients = [connect(server) for _ in range(3)]
    for client in clients[:2]:
        client.send("POST", "/v1/completions", {"prompt": [1], "stream": True})
        client.read(until=b"\r\n\r\n")
        time.sleep(0.02)

    refused = clients[2].stream()

    assert refused.status == 429
    assert refused.headers["retry-after"] == "1"
    assert refused.json["error"]["type"] == "rate_limit_error"


def test_the_reported_prompt_can_be_longer_than_the_sent_one(answer):
    seen = answer({"prompt": [1, 2, 3], "stream": False}, lengths={"prompt_drift_tokens": 1})

    assert seen.json["usage"]["prompt_tokens"] == 4


@pytest.mark.parametrize(("miss", "count"), [(-1, 3), (2, 6), (-10, 1)])
def test_the_output_can_miss_its_length(answer, miss, count):
    seen = answer(lengths={"output_miss_tokens": miss})

    assert len(seen.texts) == count


def test_natural_lengths_vary_by_prompt_and_repeat_exactly(serve, connect):
    client = connect(serve(lengths={"natural_tokens": 6, "natural_spread": 0.8}))

    def lengths():
        return [
            len(client.stream(prompt=[n], max_tokens=500, ignore_eos=False).texts)
            for n in range(12)
        ]

    first = lengths()
    assert len(set(first)) > 3
    assert lengths() == first


def test_a_natural_end_is_a_stop_and_ignore_eos_forces_the_length(serve, connect):
    client = connect(serve(lengths={"natural_tokens": 2, "natural_spread": 0}))

    natural = client.stream(max_tokens=9, ignore_eos=False)
    forced = client.stream(max_tokens=9, ignore_eos=True)

    assert natural.chunks[-1]["choices"][0]["finish_reason"] == "stop"
    assert len(natural.texts) == 2
    assert len(forced.texts) == 9


def test_a_cached_prefix_is_counted_in_usage_and_in_the_servers_counters(serve, connect):
    server = serve(engine={"prefix_cache": True})
    client = connect(server)
    prompt = list(range(100))

    first = client.stream(prompt=prompt, stream=False).json["usage"]
    second = client.stream(prompt=prompt, stream=False).json["usage"]

    assert first["prompt_tokens_details"] == {"cached_tokens": 0}
    assert second["prompt_tokens_details"] == {"cached_tokens": 96}
    text = client.ask("GET", "/metrics").body.decode()
    assert 'vllm:prefix_cache_queries_total{model_name="rehearsal",engine="0"} 200' in text
    assert 'vllm:prefix_cache_hits_total{model_name="rehearsal",engine="0"} 96' in text
    assert [r.cached_tokens for r in server.truth().requests] == [0, 96]


def test_a_cached_prefix_makes_the_first_token_faster(serve, connect):
    server = serve(engine={"prefix_cache": True}, steps={"prefill_per_token_ms": 1})
    client = connect(server)
    for _ in range(2):
        client.stream(prompt=list(range(200)))

    cold, warm = (r.token_times_ns[0] - r.arrived_ns for r in server.truth().requests)
    assert cold > 200e6
    assert warm < cold


def test_a_client_that_leaves_is_forgotten(serve, connect):
    server = serve()
    client = connect(server)
    client.send("POST", "/v1/completions", {"prompt": [1], "stream": True, "max_tokens": 9999})
    client.read(until=b"data: ")
    client.close()

    _eventually(lambda: not server.now(lambda: server.server.engine.scheduler.running))
    assert server.truth().requests[0].outcome == "client gone"


def test_an_engine_can_go_on_with_requests_whose_clients_have_left(serve, connect):
    server = serve(engine={"keeps_abandoned": True})
    client = connect(server)
    client.send("POST", "/v1/completions", {"prompt": [1], "stream": True, "max_tokens": 9999})
    client.read(until=b"data: ")
    client.close()

    _eventually(lambda: server.truth().requests[0].outcome == "client gone")
    generated = server.now(lambda: server.server.engine.scheduler.running[0].generated)
    _eventually(
        lambda: (
            server.now(lambda: server.server.engine.scheduler.running[0].generated) > generated
        )
    )


def test_pipelined_requests_are_answered_in_order(serve, connect):
    client = connect(serve())
    client.send("GET", "/health")
    client.send("GET", "/v1/models")

    seen = client.read(until=b'"object":"list"')

    assert seen.raw.index(b'"status":"ok"') < seen.raw.index(b'"object":"list"')


def test_a_large_body_may_wait_for_100_continue(serve, connect):
    client = connect(serve())
    body = json.dumps({"prompt": [7] * 100, "max_tokens": 1}).encode()
    client.socket.sendall(
        b"POST /v1/completions HTTP/1.1\r\nhost: x\r\nexpect: 100-continue\r\n"
        b"content-length: %d\r\n\r\n" % len(body)
    )

    assert client.read(until=b"100 Continue\r\n\r\n").raw.startswith(b"HTTP/1.1 100")
    client.socket.sendall(body)
    assert client.read().json["usage"]["prompt_tokens"] == 100


def test_truth_tells_when_each_token_went_out(serve, connect):
    server = serve(steps={"decode_base_ms": 20})
    seen = connect(server).stream(max_tokens=5)

    record = server.truth().by_ident()[seen.chunks[0]["id"]]
    times = record.token_times_ns
    assert record.arrived_ns < times[0] < times[-1] <= record.ended_ns
    assert sum(record.write_tokens) == record.output_tokens == 5


def _eventually(claim):
    deadline = time.monotonic() + 5
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.01)
