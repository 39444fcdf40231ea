"""The engine against the clock: order, disturbances, and streams that keep their own time."""

from __future__ import annotations

from itertools import pairwise

import pytest


def gaps_ms(record):
    return [(b - a) / 1e6 for a, b in pairwise(record.token_times_ns)]


def test_a_stall_shows_as_one_long_gap(serve, connect):
    server = serve(engine={"stall_every_s": 0.15, "stall_ms": 100}, steps={"decode_base_ms": 5})

    connect(server).stream(max_tokens=80)

    long_gaps = [gap for gap in gaps_ms(server.truth().requests[0]) if gap > 90]
    assert len(long_gaps) >= 1


def test_the_first_requests_are_slow_until_the_engine_is_warm(serve, connect):
    server = serve(engine={"cold_requests": 2, "cold_ms": 150})
    client = connect(server)
    for _ in range(3):
        client.stream()

    first = [(r.token_times_ns[0] - r.arrived_ns) / 1e6 for r in server.truth().requests]
    assert min(first[:2]) > 150
    assert first[2] < min(first[:2])


def test_requests_that_come_together_decode_together(serve, connect):
    server = serve(steps={"decode_base_ms": 20, "prefill_base_ms": 20})
    clients = [connect(server) for _ in range(4)]
    for client in clients:
        client.send(
            "POST",
            "/v1/completions",
            {"prompt": [1], "stream": True, "max_tokens": 20, "ignore_eos": True},
        )
    for client in clients:
        client.read()

    ends = [r.token_times_ns[-1] for r in server.truth().requests]
    begins = [r.arrived_ns for r in server.truth().requests]
    alone_ns = 20 * 20e6
    assert max(ends) - min(begins) < 2.5 * alone_ns


def test_one_sequence_at_a_time_makes_the_second_wait_for_the_first(serve, connect):
    server = serve(engine={"max_num_seqs": 1})
    clients = [connect(server) for _ in range(2)]
    for client in clients:
        client.send("POST", "/v1/completions", {"prompt": [1], "stream": True})
    for client in clients:
        client.read()

    one, two = server.truth().requests
    assert two.token_times_ns[0] > one.token_times_ns[-1]


def test_independent_streams_do_not_wait_for_each_other(serve, connect):
    server = serve(
        engine={"scheduler": "independent", "max_num_seqs": 1},
        steps={"decode_base_ms": 30, "prefill_base_ms": 60},
    )
    clients = [connect(server) for _ in range(5)]
    for client in clients:
        client.send("POST", "/v1/completions", {"prompt": [1], "stream": True})
    texts = [client.read().texts for client in clients]

    records = server.truth().requests
    assert [len(t) for t in texts] == [16] * 5
    assert min(r.token_times_ns[0] - r.arrived_ns for r in records) > 59e6
    assert max(r.token_times_ns[0] for r in records) < min(r.ended_ns for r in records)


def test_an_independent_stream_ends_when_its_client_leaves(serve, connect):
    server = serve(engine={"scheduler": "independent"}, steps={"decode_base_ms": 1})
    client = connect(server)
    client.send("POST", "/v1/completions", {"prompt": [1], "stream": True, "max_tokens": 9999})
    client.read(until=b"data: ")
    client.close()
    other = connect(server)

    assert len(other.stream(max_tokens=300).texts) == 300
    assert server.now(lambda: server.server.engine.scheduler.running) == []


@pytest.mark.parametrize("seeds", [(1, 1), (1, 2)])
def test_noisy_step_times_follow_the_seed(serve, connect, seeds):
    spent = []
    for seed in seeds:
        server = serve(seed=seed, steps={"noise": 0.3})
        connect(server).stream(max_tokens=30)
        spent.append(server.now(lambda server=server: server.server.engine.tally.decode_s))

    assert (spent[0] == spent[1]) is (seeds[0] == seeds[1])
