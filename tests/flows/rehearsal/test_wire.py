"""How a body is framed, cut and held back on its way to the client."""

from __future__ import annotations

import json
import time
from itertools import pairwise

import pytest


def test_a_stream_is_one_http_chunk_per_event(answer):
    seen = answer()

    sizes = [int(line, 16) for line in _chunk_heads(seen)]
    assert seen.headers["transfer-encoding"] == "chunked"
    assert len(sizes) == 6
    assert sizes[-1] == 0


def test_http_chunks_can_end_anywhere(answer):
    seen = answer(wire={"http_chunk_bytes": 7})

    assert {int(line, 16) for line in _chunk_heads(seen)[:-1]} >= {7}
    assert max(int(line, 16) for line in _chunk_heads(seen)) == 7
    assert len(seen.texts) == 4


def test_a_stream_can_be_delimited_by_the_end_of_the_connection(answer):
    seen = answer(wire={"stream_body": "close"})

    assert seen.ended == "eof"
    assert "transfer-encoding" not in seen.headers
    assert "content-length" not in seen.headers
    assert seen.events[-1] == "[DONE]"


def test_a_proxy_can_hold_the_whole_stream_and_state_its_length(answer):
    seen = answer(wire={"stream_body": "length"})

    assert int(seen.headers["content-length"]) == len(seen.body)
    assert len(seen.texts) == 4


@pytest.mark.parametrize("framing", ["length", "chunked", "close"])
def test_a_whole_answer_comes_in_each_framing(answer, framing):
    seen = answer({"stream": False}, wire={"whole_body": framing})

    assert ("content-length" in seen.headers) is (framing == "length")
    assert ("transfer-encoding" in seen.headers) is (framing == "chunked")
    assert (seen.ended == "eof") is (framing == "close")
    assert seen.json["usage"]["completion_tokens"] == 4


def test_events_can_be_split_over_segments_at_odd_bytes(answer):
    seen = answer(
        {"max_tokens": 2},
        wire={"split_bytes": 61, "split_pause_ms": 3},
        stream={"text": "unicode"},
    )

    sizes = [len(data) for _, data in seen.segments]
    assert sizes.count(61) >= 5
    assert len(seen.texts) == 2


def test_a_proxy_can_bunch_events_for_a_time(serve, connect):
    server = serve(wire={"bunch_ms": 10_000})
    client = connect(server)

    seen = client.stream(max_tokens=8)

    assert len(seen.segments) == 1
    assert len(seen.texts) == 8
    assert len(set(server.truth().requests[0].write_ns)) == 1


def test_a_proxy_can_bunch_events_until_its_buffer_is_full(serve, connect):
    server = serve(wire={"bunch_bytes": 1000})

    seen = connect(server).stream(max_tokens=20)

    stamps = server.truth().requests[0].write_ns
    assert len(seen.texts) == 20
    assert 3 <= len(set(stamps)) < 10
    assert len(stamps) == 21


def test_a_bunch_is_flushed_when_its_time_is_over(serve, connect):
    server = serve(wire={"bunch_ms": 30}, steps={"decode_base_ms": 10})

    connect(server).stream(max_tokens=60)

    flushes = sorted(set(server.truth().requests[0].write_ns))
    assert 3 <= len(flushes) < 60
    assert min(b - a for a, b in pairwise(flushes[:-1])) > 25e6


def test_a_slow_reader_gets_every_byte(serve, connect):
    server = serve(model="m" * 3000, steps={"decode_base_ms": 0})
    client = connect(server)
    body = {"prompt": [1], "max_tokens": 5000, "stream": True, "ignore_eos": True}
    client.send("POST", "/v1/completions", body)
    begun = client.read(until=b"data: ")
    deadline = time.monotonic() + 10
    while not server.now(lambda: [c for c in server.server._connections if c._unsent]):
        assert time.monotonic() < deadline
        time.sleep(0.01)

    rest = client.read(timeout_s=60, until=b"\r\n0\r\n\r\n")

    assert (begun.raw + rest.raw).count(b'"text"') == 5000
    assert rest.raw.endswith(b"data: [DONE]\n\n\r\n0\r\n\r\n")


def _chunk_heads(seen):
    rest = seen.raw.partition(b"\r\n\r\n")[2]
    heads = []
    while rest:
        line, _, rest = rest.partition(b"\r\n")
        heads.append(line.decode())
        rest = rest[int(line, 16) + 2 :]
    return heads


def test_a_whole_answer_has_the_same_text_as_its_stream(answer):
    whole = answer({"stream": False, "max_tokens": 9})
    streamed = answer({"max_tokens": 9})

    assert whole.json["choices"][0]["text"] == "".join(streamed.texts)
    assert json.loads(whole.body)["object"] == "text_completion"
