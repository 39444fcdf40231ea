from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from flows.bench.http import Answer
from flows.errors import UsageError
from flows.launch.ask import Address, Ask, NoAnswerError, fetched, json_of

OK = b"HTTP/1.1 200 OK\r\n"


@contextmanager
def serving(answer: Callable[[socket.socket], None]) -> Iterator[Address]:
    """A server that takes one request and answers as the test says."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            client, _ = server.accept()
            with client:
                client.recv(1 << 16)
                answer(client)

        thread = threading.Thread(target=serve)
        thread.start()
        yield Address(host="127.0.0.1", port=server.getsockname()[1], headers={})
        thread.join()


def answered(ask: Ask) -> Answer:
    """The answer, waited for."""
    while (answer := ask.answer()) is None:
        ask.wait(10.0)
    return answer


@pytest.mark.parametrize(
    ("raw", "body"),
    [
        (OK + b"content-length: 4\r\n\r\nfine", b"fine"),
        (OK + b"transfer-encoding: chunked\r\n\r\n2\r\nfi\r\n2\r\nne\r\n0\r\n\r\n", b"fine"),
        (OK + b"\r\nuntil the end", b"until the end"),
        (OK + b"content-length: 0\r\n\r\n", b""),
    ],
)
def test_an_answer_is_whole_however_it_is_framed(raw: bytes, body: bytes) -> None:
    with serving(lambda client: client.sendall(raw)) as address:
        answer = fetched(address, "/", 10.0)

    assert answer is not None
    assert (answer.status, answer.body) == (200, body)


def test_an_answer_in_drops_blocks_nobody() -> None:
    go, raw = threading.Event(), OK + b"content-length: 4\r\n\r\nfine"

    def drip(client: socket.socket) -> None:
        client.sendall(raw[:9])
        go.wait()
        client.sendall(raw[9:])

    with serving(drip) as address:
        ask = Ask(address)
        ask.send("/")
        ask.wait(10.0)
        early = ask.answer()
        go.set()
        late = answered(ask)
        ask.close()

    assert early is None
    assert late.body == b"fine"


@pytest.mark.parametrize("raw", [b"", b"SSH-2.0-OpenSSH\r\n\r\n", b"HTTP/1.1 200"])
def test_what_is_no_answer_is_said_to_be_none(raw: bytes) -> None:
    with serving(lambda client: client.sendall(raw)) as address:
        ask = Ask(address)
        ask.send("/")
        with pytest.raises(NoAnswerError):
            answered(ask)
        ask.close()


def test_silence_is_no_answer_within_its_time() -> None:
    go = threading.Event()
    with serving(lambda _client: go.wait() and None) as address:
        answer = fetched(address, "/", 0.05)
        go.set()

    assert answer is None


def test_nobody_there_refuses_the_connection(port: int) -> None:
    address = Address(host="127.0.0.1", port=port, headers={})

    with pytest.raises(NoAnswerError, match="connection refused"):
        Ask(address)
    assert fetched(address, "/", 1.0) is None


def test_headers_and_body_arrive_as_json() -> None:
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ask = Ask(Address(host="127.0.0.1", port=port, headers={"authorization": "Bearer k"}))
        client, _ = server.accept()
        ask.send("/v1/completions", {"prompt": "é"})
        with client:
            got.append(client.recv(1 << 16))
        ask.close()

    head, _, body = got[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/completions HTTP/1.1\r\n")
    assert b"authorization: Bearer k" in head
    assert f"content-length: {len(body)}".encode() in head
    assert body == b'{"prompt": "\\u00e9"}'


def test_a_launched_server_is_asked_on_this_machine_only() -> None:
    with pytest.raises(UsageError, match="listens on this machine only"):
        Address(host="192.0.2.1", port=80, headers={})


def test_what_is_not_json_is_nothing() -> None:
    with serving(lambda client: client.sendall(OK + b"\r\n<html>")) as address:
        answer = fetched(address, "/", 10.0)

    assert answer is not None
    assert json_of(answer) is None
