"""Runs against servers that behave, and against each way of misbehaving seen in public."""

import json
import random
import socket
import threading
import time

import pytest

from flows.doctor.tools import has_stamps
from flows.load import pool, stream
from flows.load.clock import SO_TIMESTAMPNS
from flows.load.errors import LateError
from flows.load.plan import Endpoint, Warmup


def outcomes(run):
    return [request.outcome for request in run.requests]


def bodies(run):
    return [b"".join(request.fragments) for request in run.requests]


def test_each_answer_is_kept_to_the_byte_with_one_stamp_per_piece(serve, load, wire):
    run = load(serve(wire.answer_all))

    assert outcomes(run) == ["complete"] * 8
    assert bodies(run) == [wire.body] * 8
    for request in run.requests:
        assert len(request.stamps_ns) == len(request.fragments) > 0
        assert list(request.stamps_ns) == sorted(request.stamps_ns)
        assert request.scheduled_ns <= request.sent_ns <= request.done_ns
        assert request.first_byte_ns <= request.stamps_ns[0]
        assert request.stamps_ns[-1] <= request.done_ns
        assert (request.status, request.content_type) == (200, "text/event-stream")


def test_the_request_on_the_wire_is_the_planned_one(serve, load, wire):
    server = serve(wire.answer_all)
    endpoint = Endpoint(url=server.url, headers={"Authorization": "Bearer k", "accept": "a/b"})

    load(endpoint, requests=1)

    (request,) = server.requests
    assert request.head.startswith("POST /v1/completions HTTP/1.1\r\n")
    assert request.headers["host"] == f"127.0.0.1:{server.port}"
    assert request.headers["content-type"] == "application/json"
    assert request.headers["authorization"] == "Bearer k"
    assert request.headers["accept"] == "a/b"
    assert request.body == b'{"prompt": "0", "stream": true}'


def test_the_raw_file_holds_no_values_of_headers_or_queries(serve, load, wire, tmp_path):
    server = serve(wire.answer_all)
    endpoint = Endpoint(
        url=f"{server.url}?key=planted-secret",
        headers={"authorization": "Bearer planted-secret"},
    )

    run = load(endpoint, requests=1)

    assert server.requests[0].head.startswith("POST /v1/completions?key=planted-secret HTTP/")
    assert run.header["endpoints"][0]["headers"] == {"authorization": "***"}
    assert run.header["endpoints"][0]["url"] == f"{server.url}?key=***"
    assert b"planted-secret" not in (tmp_path / "raw").read_bytes()


def test_a_plan_begins_at_the_instant_that_it_states_whatever_it_waited_for(serve, load, wire):
    zero_ns = time.monotonic_ns() + 400_000_000

    run = load(serve(wire.answer_all), zero_ns=zero_ns)

    assert run.zero_ns == zero_ns
    assert min(request.sent_ns for request in run.requests) >= zero_ns
    assert outcomes(run) == ["complete"] * 8


def test_a_plan_whose_instant_has_passed_is_refused(serve, load, wire):
    with pytest.raises(LateError, match=r"the common start was \d+ ms ago"):
        load(serve(wire.answer_all), zero_ns=time.monotonic_ns() - 1_000_000)


def test_a_kept_connection_is_used_again(serve, load, wire):
    server = serve(wire.answer_all)

    run = load(server, requests=30, concurrency=2)

    assert server.connections == len(run.connections) == 4
    assert sum(request.reused for request in run.requests) >= 26
    assert not any(request.reconnected for request in run.requests)
    assert run.client["closes_after_answer"] == [False]


def test_every_read_has_the_kernels_stamp_and_every_connection_a_round_trip(serve, load, wire):
    with socket.socket() as asking:
        # the kernel begins to stamp a moment after the first socket asks for it
        asking.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        assert has_stamps()
        run = load(serve(wire.answer_all))

    assert run.client["reads_without_kernel_stamp"] == 0
    assert len(run.client["rtt_us"]) == len(run.connections)
    assert all(rtt_us > 0 for rtt_us in run.client["rtt_us"])


def test_an_answer_written_byte_by_byte_is_the_same_answer(serve, load, wire):
    def script(peer, number):
        for _ in peer.requests():
            for byte in b"".join(wire.streamed()):
                peer.send(bytes([byte]))

    assert bodies(load(serve(script), requests=2)) == [wire.body] * 2


def test_an_answer_written_at_once_is_the_same_answer(serve, load, wire):
    def script(peer, number):
        for _ in peer.requests():
            peer.send(b"".join(wire.streamed()))

    assert bodies(load(serve(script), requests=4)) == [wire.body] * 4


@pytest.mark.parametrize(
    ("head", "ends_with_connection"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n", False),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 11\r\nconnection: close\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\n\r\n", True),
        (b"HTTP/1.0 200 OK\r\n\r\n", True),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n", False),
        (b"HTTP/1.1 500 Oh\r\ncontent-length: 11\r\n\r\n", False),
        (b"HTTP/1.1 429 Slow\r\ncontent-length: 11\r\nretry-after: 1\r\n\r\n", False),
    ],
    ids=["length", "length, close", "until the end", "1.0", "100 first", "500", "429"],
)
def test_each_framing_and_each_status_is_a_complete_answer(
    serve, load, head, ends_with_connection
):
    def script(peer, number):
        for _ in peer.requests():
            peer.send(head, b'{"a"', b': "b"}\n')
            if ends_with_connection:
                return

    run = load(serve(script), requests=6)

    assert outcomes(run) == ["complete"] * 6
    assert bodies(run) == [b'{"a": "b"}\n'] * 6
    assert {request.status for request in run.requests} == {
        int(head.split(b"HTTP/1.")[-1].split()[1])
    }
    assert not any(request.reconnected for request in run.requests)


def test_an_answer_without_a_body_is_complete(serve, load):
    def script(peer, number):
        for _ in peer.requests():
            peer.send(b"HTTP/1.1 204 No Content\r\n\r\n")

    run = load(serve(script), requests=4)

    assert outcomes(run) == ["complete"] * 4
    assert bodies(run) == [b""] * 4


def test_a_server_that_closes_after_each_answer_loses_nothing(serve, load, wire):
    def script(peer, number):
        peer.request()
        peer.send(*wire.streamed())

    run = load(serve(script), requests=64, concurrency=16)

    assert outcomes(run) == ["complete"] * 64
    assert bodies(run) == [wire.body] * 64
    assert run.client["closes_after_answer"] == [True]
    assert not any(request.reused for request in run.requests)


def test_a_server_that_closes_now_and_then_is_not_taken_for_one_that_always_does(
    serve, load, wire
):
    def script(peer, number):
        for _ in range(5):
            peer.request()
            peer.send(*wire.streamed())

    run = load(serve(script), requests=60, concurrency=4)

    assert outcomes(run) == ["complete"] * 60
    assert run.client["closes_after_answer"] == [False]
    assert sum(request.reused for request in run.requests) > 30


def test_a_server_that_ends_idle_connections_loses_nothing(
    serve, load, wire, a_plan, monkeypatch
):
    monkeypatch.setattr(stream, "_KEPT_NS", 20_000_000)

    def script(peer, number):
        peer.set_timeout(0.15)
        wire.answer_all(peer, number)

    requests = [a_plan.planned(n, at_ns=n * 310_000_000) for n in range(4)]
    server = serve(script)
    run = load(server, requests=requests, arrival="open", concurrency=None)

    assert outcomes(run) == ["complete"] * 4
    assert server.connections > 4


def test_a_request_that_a_reused_connection_swallowed_is_sent_once_more(serve, load, wire):
    swallowed = []

    def script(peer, number):
        peer.request()
        peer.send(*wire.streamed())
        swallowed.append(peer.request())

    server = serve(script)
    run = load(server, requests=12, concurrency=1)

    assert outcomes(run) == ["complete"] * 12
    again = [request.body for request in swallowed if request is not None]
    assert len(server.requests) == 12 + len(again)
    assert sum(request.reconnected for request in run.requests) == len(again) > 0
    assert not any(request.reused for request in run.requests if request.reconnected)


def test_a_reused_connection_that_is_reset_is_replaced_as_well(serve, load, wire):
    def script(peer, number):
        peer.request()
        peer.send(*wire.streamed())
        peer.request()
        peer.reset()

    run = load(serve(script), requests=8, concurrency=1)

    assert outcomes(run) == ["complete"] * 8
    assert any(request.reconnected for request in run.requests)


def test_a_server_that_goes_away_between_two_answers_is_a_failed_connection(serve, load, wire):
    def script(peer, number):
        for request in peer.requests():
            if b'"3"' in request.body:
                server.close_listener()
                return
            peer.send(*wire.streamed())

    server = serve(script)
    run = load(server, requests=6, concurrency=1)

    assert outcomes(run)[:3] == ["complete"] * 3
    assert (run.requests[3].outcome, run.requests[3].reconnected) == ("connect", True)


def test_a_second_attempt_that_finds_no_connection_ends_in_time(
    load, wire, a_plan, monkeypatch
):
    monkeypatch.setattr(stream, "_KEPT_NS", 20_000_000)
    listener = socket.create_server(("127.0.0.1", 0), backlog=0)
    address = listener.getsockname()
    accepted = []

    def swallow():
        accepted.extend(listener.accept()[0] for _ in range(2))
        blockers.append(socket.create_connection(address))
        accepted[0].recv(1 << 16)
        accepted[1].close()
        accepted[0].close()

    blockers = []
    swallowing = threading.Thread(target=swallow)
    swallowing.start()
    requests = [a_plan.planned(n, at_ns=60_000_000) for n in range(2)]
    run = load(
        Endpoint(url=f"http://127.0.0.1:{address[1]}/"),
        requests=requests,
        arrival="open",
        concurrency=1,
        timeout_s=0.2,
    )
    swallowing.join()
    for one in (listener, *accepted, *blockers):
        one.close()

    assert set(outcomes(run)) == {"connect"}
    assert run.requests[0].error == "no connection within 0.2 s"


@pytest.mark.parametrize("how", ["reset", "close"])
def test_a_fresh_connection_that_fails_before_the_first_byte_is_not_tried_again(
    serve, load, how, monkeypatch
):
    # fresh also on a busy machine, which lets a connection wait for over a second
    monkeypatch.setattr(stream, "_KEPT_NS", 60_000_000_000)

    def script(peer, number):
        peer.request()
        if how == "reset":
            peer.reset()

    server = serve(script)
    run = load(server, requests=4)

    assert outcomes(run) == ["reset"] * 4
    assert len(server.requests) == 4
    assert not any(request.reconnected for request in run.requests)
    assert all("before the answer's first byte" in request.error for request in run.requests)
    assert all(request.status is None for request in run.requests)


def test_an_answer_that_breaks_off_is_a_reset_with_what_came(serve, load, wire):
    def script(peer, number):
        for _ in peer.requests():
            peer.send(*wire.streamed()[:3])
            return

    server = serve(script)
    run = load(server, requests=6, concurrency=1)

    assert outcomes(run) == ["reset"] * 6
    assert len(server.requests) == 6
    assert bodies(run) == [wire.event(" t0") + wire.event(" t1")] * 6
    assert "after" in run.requests[0].error


def test_a_reused_connection_that_fails_after_the_first_byte_is_not_tried_again(
    serve, load, wire
):
    def script(peer, number):
        peer.request()
        peer.send(*wire.streamed())
        peer.request()
        peer.send(wire.head)
        peer.reset()

    server = serve(script)
    run = load(server, requests=12, concurrency=1)

    assert len(server.requests) == 12
    assert set(outcomes(run)) == {"complete", "reset"}
    broken = [request for request in run.requests if request.outcome == "reset"]
    assert all(request.reused and not request.reconnected for request in broken)


def test_a_length_that_is_not_reached_is_a_reset(serve, load):
    def script(peer, number):
        peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n", b"short")

    run = load(serve(script), requests=2)

    assert outcomes(run) == ["reset"] * 2
    assert bodies(run) == [b"short"] * 2


def test_a_server_that_is_not_there_gives_each_request_its_outcome(serve, load, wire):
    gone = serve(wire.answer_all)
    gone.stop()

    run = load(gone, requests=20, concurrency=4)

    assert outcomes(run) == ["connect"] * 20
    assert {request.error for request in run.requests} == {"Connection refused"}
    assert all(request.sent_ns is None for request in run.requests)


def test_a_server_that_never_accepts_is_given_up(load, monkeypatch):
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        with socket.create_connection(address):
            monkeypatch.setattr(pool, "CONNECT_TIMEOUT_S", 0.1)
            run = load(
                Endpoint(url=f"http://127.0.0.1:{address[1]}/"), requests=3, concurrency=1
            )

    assert "connect" in outcomes(run)
    assert "not connected within 0.1 s" in {request.error for request in run.requests}


def test_a_request_without_a_connection_in_time_is_not_called_sent(load, monkeypatch):
    monkeypatch.setattr(pool, "CONNECT_TIMEOUT_S", 0.3)
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        blockers = [socket.create_connection(address)]
        run = load(
            Endpoint(url=f"http://127.0.0.1:{address[1]}/"),
            requests=6,
            concurrency=6,
            timeout_s=0.1,
        )
        blockers[0].close()

    assert "connect" in outcomes(run)
    assert all(
        (request.outcome == "connect") == (request.sent_ns is None) for request in run.requests
    )


@pytest.mark.parametrize("pieces", [0, 1, 3], ids=["silent", "head only", "some tokens"])
def test_an_answer_that_hangs_times_out_with_what_came(serve, load, wire, pieces):
    def script(peer, number):
        peer.request()
        peer.send(*wire.streamed()[:pieces])
        peer.wait_for_close()

    run = load(serve(script), requests=4, concurrency=4, timeout_s=0.1)

    assert outcomes(run) == ["timed_out"] * 4
    assert (
        bodies(run)
        == [b"".join(map(wire.event, [" t0", " t1"][: pieces - 1])) * (pieces > 1)] * 4
    )
    assert "0.1 s" in run.requests[0].error


def test_a_time_out_costs_the_connection_and_nothing_else(serve, load, wire):
    def script(peer, number):
        for request in peer.requests():
            if b'"1"' in request.body:
                peer.wait_for_close()
                return
            peer.send(*wire.streamed())

    run = load(serve(script), requests=8, concurrency=1, timeout_s=0.1)

    assert outcomes(run) == ["complete", "timed_out", *["complete"] * 6]
    assert run.client["closes_after_answer"] == [False]


@pytest.mark.parametrize(
    "garbage", [b"SSH-2.0-OpenSSH\r\n", b"\x16\x03\x01\x02", b"HTTP/9 what\r\n\r\n"]
)
def test_what_is_not_http_is_a_reset_that_says_so(serve, load, garbage):
    def script(peer, number):
        for _ in peer.requests():
            peer.send(garbage)

    run = load(serve(script), requests=3)

    assert outcomes(run) == ["reset"] * 3
    assert "not HTTP/1.1" in run.requests[0].error


def test_a_second_answer_that_nobody_asked_for_spoils_no_next_one(serve, load, wire):
    def script(peer, number):
        for _ in peer.requests():
            peer.send(b"".join(wire.streamed()) + b"".join(wire.streamed(1)))

    run = load(serve(script), requests=6, concurrency=1)

    assert bodies(run) == [wire.body] * 6
    assert not any(request.reused for request in run.requests)


def test_words_on_an_idle_connection_spoil_no_next_answer(serve, load, wire, a_plan):
    def script(peer, number):
        for _ in peer.requests():
            peer.send(*wire.streamed())
            peer.send(b"HTTP/1.1 408 Request Timeout\r\ncontent-length: 0\r\n\r\n")

    requests = [a_plan.planned(n, at_ns=n * 60_000_000) for n in range(6)]
    server = serve(script)
    run = load(server, requests=requests, arrival="open", concurrency=None)

    assert [request.status for request in run.requests] == [200] * 6
    assert bodies(run) == [wire.body] * 6
    assert len(server.requests) == 6


def test_an_answer_before_the_whole_question_is_taken(serve, load, a_plan):
    def script(peer, number):
        peer.head_only()
        peer.send(b"HTTP/1.1 413 Too Large\r\ncontent-length: 3\r\n\r\nbig")
        peer.wait_for_close()

    requests = [a_plan.planned(n, body='"' + "x" * 8_000_000 + '"') for n in range(2)]
    run = load(serve(script), requests=requests, concurrency=1)

    assert [request.status for request in run.requests] == [413, 413]
    assert outcomes(run) == ["complete"] * 2
    assert not any(request.reused for request in run.requests)


def test_a_prompt_and_an_answer_of_100k_tokens_pass_unharmed(serve, load, wire, a_plan):
    tokens = 100_000
    body = b"".join(wire.event(f" t{number}") for number in range(tokens))

    def script(peer, number):
        for request in peer.requests():
            assert len(request.body) == len(prompt)
            peer.send(wire.head, *map(wire.chunk, blocks), b"0\r\n\r\n")

    blocks = [body[at : at + 10_000] for at in range(0, len(body), 10_000)]
    prompt = json.dumps({"prompt": list(range(tokens))})
    requests = [a_plan.planned(n, body=prompt) for n in range(2)]

    run = load(serve(script), requests=requests, concurrency=2)

    assert outcomes(run) == ["complete"] * 2
    assert bodies(run) == [body] * 2


def test_the_cap_holds_and_binds_what_waits_for_it(serve, load, wire, a_plan):
    def script(peer, number):
        for _ in peer.requests():
            with server.busy():
                time.sleep(0.02)
            peer.send(*wire.streamed())

    server = serve(script)
    requests = [a_plan.planned(n, at_ns=0) for n in range(12)]
    run = load(server, requests=requests, arrival="open", concurrency=3)

    assert outcomes(run) == ["complete"] * 12
    assert server.peak <= 3
    assert run.client["in_flight_peak"] == 3
    assert [request.slot_free_ns for request in run.requests[:3]] == [None] * 3
    for request in run.requests[3:]:
        assert request.scheduled_ns == run.zero_ns
        assert run.zero_ns < request.slot_free_ns <= request.sent_ns


def test_without_a_cap_everything_due_is_in_flight(serve, load, wire, a_plan):
    everyone = threading.Barrier(40, timeout=10)

    def script(peer, number):
        for _ in peer.requests():
            everyone.wait()
            peer.send(*wire.streamed())

    requests = [a_plan.planned(n, at_ns=n * 100_000) for n in range(40)]
    run = load(serve(script), requests=requests, arrival="open", concurrency=None)

    assert outcomes(run) == ["complete"] * 40
    assert run.client["in_flight_peak"] == 40


def test_an_open_loop_sends_at_its_times_and_never_before(serve, load, wire, a_plan):
    requests = [a_plan.planned(n, at_ns=n * 7_000_000) for n in range(20)]

    run = load(serve(wire.answer_all), requests=requests, arrival="open", concurrency=None)

    for number, request in enumerate(run.requests):
        assert request.scheduled_ns == run.zero_ns + number * 7_000_000
        assert request.sent_ns >= request.scheduled_ns


def test_a_closed_loop_keeps_its_number_in_flight(serve, load, wire):
    def script(peer, number):
        for _ in peer.requests():
            with server.busy():
                time.sleep(0.005)
            peer.send(*wire.streamed())

    server = serve(script)
    run = load(server, requests=24, concurrency=6)

    assert server.peak == 6
    assert run.client["in_flight_peak"] == 6
    ends = sorted(request.done_ns for request in run.requests)
    starts = sorted(request.scheduled_ns for request in run.requests)
    assert starts == [run.zero_ns] * 6 + ends[:18]


def test_a_later_turn_waits_for_the_turn_before_and_thinks(serve, load, wire, a_plan):
    think_ns = 20_000_000
    requests = [
        a_plan.planned(0, session=0, at_ns=0),
        a_plan.planned(1, session=1, at_ns=1_000_000),
        a_plan.planned(2, session=0, turn=1, think_ns=think_ns),
        a_plan.planned(3, session=0, turn=2, think_ns=think_ns),
    ]

    run = load(serve(wire.answer_all), requests=requests, arrival="open", concurrency=None)

    first, _, second, third = run.requests
    assert second.scheduled_ns == first.done_ns + think_ns
    assert third.scheduled_ns == second.done_ns + think_ns
    assert outcomes(run) == ["complete"] * 4


def test_the_turns_behind_a_failed_one_are_not_sent_and_say_why(serve, load, wire, a_plan):
    def script(peer, number):
        for request in peer.requests():
            if b'"0"' in request.body:
                return
            peer.send(*wire.streamed())

    requests = [
        a_plan.planned(0, session=0, at_ns=0),
        a_plan.planned(1, session=1, at_ns=0),
        a_plan.planned(2, session=0, turn=1),
        a_plan.planned(3, session=0, turn=2),
    ]
    run = load(serve(script), requests=requests, arrival="open", concurrency=None)

    assert outcomes(run) == ["reset", "complete", "not_sent", "not_sent"]
    assert run.requests[3].error == "turn 0 of its session failed"
    assert run.requests[3].phase == "measured"


def test_several_endpoints_get_the_requests_planned_for_them(serve, load, wire, a_plan):
    servers = [serve(wire.answer_all), serve(wire.answer_all)]
    requests = [a_plan.planned(n, endpoint=n % 3 == 0) for n in range(9)]

    run = load(*servers, requests=requests)

    assert outcomes(run) == ["complete"] * 9
    assert [len(server.requests) for server in servers] == [6, 3]
    assert {connection.endpoint for connection in run.connections} == {0, 1}


def test_an_endpoint_that_is_down_fails_only_its_own_requests(serve, load, wire, a_plan):
    up, down = serve(wire.answer_all), serve(wire.answer_all)
    down.stop()
    requests = [a_plan.planned(n, endpoint=n % 2) for n in range(8)]

    run = load(up, down, requests=requests)

    assert outcomes(run) == ["complete", "connect"] * 4


def test_drain_holds_the_load_until_the_last_measured_answer(serve, load, wire, a_plan):
    def script(peer, number):
        for request in peer.requests():
            time.sleep(0.2 if b'"5"' in request.body else 0.01)
            peer.send(*wire.streamed())

    requests = [a_plan.planned(n) for n in range(500)]
    run = load(
        serve(script),
        requests=requests,
        concurrency=3,
        warmup=Warmup(mode="fixed", requests=4),
        measured_requests=4,
    )

    phases = [request.phase for request in run.requests]
    assert phases[:8] == ["warmup"] * 4 + ["measured"] * 4
    assert set(phases[8:]) == {"drain"}
    assert 8 < len(phases) < 500
    assert outcomes(run) == ["complete"] * len(phases)
    last_measured_ns = max(request.done_ns for request in run.requests[:8])
    # a client kept from running may read the two other streams before the last answer
    late = [r for r in run.requests[8:] if r.scheduled_ns >= last_measured_ns]
    assert len(late) <= 2
    measured_ns = [request.scheduled_ns for request in run.requests[4:8]]
    assert run.window == (min(measured_ns), max(measured_ns))
    assert run.warmup_requests == 4


def test_a_window_of_time_measures_what_is_due_in_it(serve, load, wire, a_plan):
    requests = [a_plan.planned(n, at_ns=n * 10_000_000) for n in range(200)]

    run = load(
        serve(wire.answer_all),
        requests=requests,
        arrival="open",
        concurrency=None,
        warmup=Warmup(mode="fixed", requests=5),
        measured_requests=None,
        duration_s=0.2,
    )

    assert [request.phase for request in run.requests[:25]] == ["warmup"] * 5 + [
        "measured"
    ] * 20
    assert {request.phase for request in run.requests[25:]} <= {"drain"}
    window_end_ns = run.zero_ns + 250_000_000
    ended_ns = max(window_end_ns, *(request.done_ns for request in run.requests[5:25]))
    # a client kept from running sends what fell due meanwhile before it reads the last answer
    drained = [request for request in run.requests[25:] if request.sent_ns is not None]
    kept_ns = max((request.sent_ns - request.scheduled_ns for request in drained), default=0)
    last_ns = max((request.scheduled_ns for request in run.requests[25:]), default=0)
    assert last_ns <= ended_ns + kept_ns + 10_000_000


def test_a_steady_server_ends_the_warm_up_early(serve, load, a_plan, wire):
    def script(peer, number):
        for _ in peer.requests():
            for part in wire.streamed(3):
                time.sleep(0.01)
                peer.send(part)

    requests = [a_plan.planned(n) for n in range(60)]
    run = load(
        serve(script),
        requests=requests,
        concurrency=4,
        warmup=Warmup(mode="adaptive", requests=50, window=3, windows=2, tolerance=0.5),
        measured_requests=10,
    )

    assert run.warmup_converged is True
    assert 4 + 6 <= run.warmup_requests < 50
    assert [r.phase for r in run.requests].count("measured") == 60 - run.warmup_requests
    assert run.client["plan_ran_out"] is False


def test_a_plan_that_is_too_short_says_so(serve, load, wire):
    run = load(serve(wire.answer_all), requests=5, measured_requests=50)

    assert run.client["plan_ran_out"] is True
    assert outcomes(run) == ["complete"] * 5


MISBEHAVIOURS = {
    "well": "complete",
    "well, then close": "complete",
    "well, and more": "complete",
    "until the end": "complete",
    "error 500": "complete",
    "reset at once": "reset",
    "close at once": "reset",
    "break off": "reset",
    "no HTTP": "reset",
    "silence": "timed_out",
    "stall": "timed_out",
}


@pytest.mark.e2e
@pytest.mark.parametrize("arrival", ["closed", "open", "capped"])
def test_among_all_misbehaviours_at_once_each_request_gets_its_own_outcome(
    serve, load, wire, a_plan, arrival
):
    draw = random.Random(42)
    how = [draw.choice([*MISBEHAVIOURS, *["well"] * 20]) for _ in range(240)]

    def script(peer, number):
        for request in peer.requests():
            chosen = how[int(json.loads(request.body)["prompt"])]
            if not behave(peer, chosen):
                return

    def behave(peer, chosen):
        whole = b"".join(wire.streamed())
        if chosen == "reset at once":
            peer.reset()
        elif chosen in ("silence", "stall"):
            peer.send(whole[:120] if chosen == "stall" else b"")
            peer.wait_for_close()
        elif chosen != "close at once":
            peer.send(
                {
                    "well, and more": whole + b"HTTP/1.1 200 OK\r\n\r\nunasked",
                    "until the end": b"HTTP/1.1 200 OK\r\n\r\n" + wire.body,
                    "error 500": b"HTTP/1.1 500 Oh\r\ncontent-length: 0\r\n\r\n",
                    "break off": whole[:150],
                    "no HTTP": b"\x00\x01\x02\r\n\r\n",
                }.get(chosen, whole)
            )
        return chosen in ("well", "well, and more", "error 500")

    requests = [
        a_plan.planned(n, at_ns=None if arrival == "closed" else n * 2_000_000)
        for n in range(len(how))
    ]
    run = load(
        serve(script),
        requests=requests,
        arrival="closed" if arrival == "closed" else "open",
        concurrency=None if arrival == "open" else 8,
        timeout_s=2.0,
    )

    assert [request.sequence for request in run.requests] == list(range(len(how)))
    assert outcomes(run) == [MISBEHAVIOURS[chosen] for chosen in how]
    for request, chosen in zip(run.requests, how, strict=True):
        if chosen.startswith(("well", "until")):
            assert b"".join(request.fragments) == wire.body
