"""Manners of the server's sockets: keep-alive, idle ends, slow accepts, limits."""

from __future__ import annotations

import time


def test_a_connection_carries_many_requests(serve, connect):
    server = serve()
    client = connect(server)

    assert [len(client.stream().texts) for _ in range(3)] == [4, 4, 4]
    assert [(r.connection, r.reused) for r in server.truth().requests] == [
        (0, False),
        (0, True),
        (0, True),
    ]


def test_keep_alive_is_promised_and_broken_after_each_stream(serve, connect):
    client = connect(serve(connection={"close_after_stream": True}))

    seen = client.stream()

    assert seen.headers["connection"] == "keep-alive"
    assert seen.events[-1] == "[DONE]"
    assert client.read().ended == "eof"


def test_the_broken_promise_is_kept_for_answers_that_are_not_streamed(serve, connect):
    client = connect(serve(connection={"close_after_stream": True}))

    assert client.stream(stream=False).status == 200
    assert client.ask("GET", "/health").status == 200


def test_an_honest_server_without_keep_alive_says_so(serve, connect):
    client = connect(serve(connection={"keep_alive": False}))

    assert client.stream().headers["connection"] == "close"
    assert client.read().ended == "eof"


def test_a_client_can_ask_for_the_end_of_the_connection(serve, connect):
    client = connect(serve())
    seen = client.ask("GET", "/health", connection="close")

    assert seen.headers["connection"] == "close"
    assert client.read().ended == "eof"


def test_an_idle_connection_is_closed_and_a_busy_one_is_not(serve, connect):
    client = connect(serve(connection={"idle_close_ms": 60}, steps={"prefill_base_ms": 200}))

    assert client.stream().events[-1] == "[DONE]"
    assert client.read().ended == "eof"


def test_a_fresh_connection_without_a_request_is_idle_too(serve, connect):
    assert connect(serve(connection={"idle_close_ms": 30})).read().ended == "eof"


def test_slow_accepts_come_one_after_another(serve, connect):
    server = serve(connection={"accept_delay_ms": 60})
    begin = time.monotonic()
    clients = [connect(server) for _ in range(4)]

    for client in clients:
        assert client.ask("GET", "/health").status == 200
    assert time.monotonic() - begin > 0.15


def test_connections_over_the_limit_wait_for_a_place(serve, connect):
    server = serve(connection={"max_connections": 1})
    first, second = connect(server), connect(server)
    assert first.ask("GET", "/health").status == 200
    second.send("GET", "/health")

    assert second.read(timeout_s=0.15).raw == b""
    first.close()
    assert second.read().status == 200


def test_connections_over_the_limit_can_be_closed_at_once(serve, connect):
    server = serve(connection={"max_connections": 1, "over_limit": "close"})
    first = connect(server)
    assert first.ask("GET", "/health").status == 200

    assert connect(server).read().raw == b""


def test_connections_over_the_limit_can_be_answered_503(serve, connect):
    server = serve(connection={"max_connections": 1, "over_limit": "503"})
    first = connect(server)
    assert first.ask("GET", "/health").status == 200

    assert connect(server).ask("GET", "/health").status == 503
    first.close()


def test_a_slow_network_delays_every_answer_alike(serve, connect):
    server = serve(connection={"latency_ms": 80, "close_after_stream": True})
    client = connect(server)
    begin = time.monotonic()
    assert client.ask("GET", "/health").status == 200
    asked = time.monotonic()
    seen = client.stream()

    assert asked - begin > 0.078
    assert time.monotonic() - asked > 0.078
    assert len(seen.texts) == 4
    assert client.read().ended == "eof"
