"""Runs through TLS; the certificate beside this file is its own authority, for tests only."""

import ssl
from pathlib import Path

import pytest

from flows.load.errors import EndpointError
from flows.load.plan import Endpoint, Tls

CERTIFICATE = Path(__file__).parent / "tls" / "cert.pem"


@pytest.fixture
def serve_tls(serve):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(CERTIFICATE, CERTIFICATE.with_name("key.pem"))
    return lambda script: serve(script, tls=context)


def trusted(server):
    return Endpoint(url=server.url, tls=Tls(ca=str(CERTIFICATE)))


def test_an_answer_through_tls_is_kept_to_the_byte(serve_tls, load, wire):
    run = load(trusted(serve_tls(wire.answer_all)))

    assert [request.outcome for request in run.requests] == ["complete"] * 8
    assert {b"".join(request.fragments) for request in run.requests} == {wire.body}
    assert all(connection.tls_us > 0 for connection in run.connections)
    assert any(request.reused for request in run.requests)


def test_plain_connections_have_no_tls_time(serve, load, wire):
    run = load(serve(wire.answer_all), requests=1)

    assert {connection.tls_us for connection in run.connections} == {None}


def test_an_unknown_authority_is_refused_for_each_request(serve_tls, load, wire):
    server = serve_tls(wire.answer_all)

    run = load(Endpoint(url=server.url), requests=4)

    assert [request.outcome for request in run.requests] == ["connect"] * 4
    assert {request.error for request in run.requests} == {"TLS: self-signed certificate"}
    assert server.requests == []


def test_verification_can_be_switched_off(serve_tls, load, wire):
    server = serve_tls(wire.answer_all)

    run = load(Endpoint(url=server.url, tls=Tls(verify=False)), requests=4)

    assert [request.outcome for request in run.requests] == ["complete"] * 4


def test_a_plain_server_behind_https_is_a_failed_connection(serve, load, wire):
    server = serve(lambda peer, number: peer.send(b"hello, no TLS here\r\n"))
    url = server.url.replace("http:", "https:")

    run = load(Endpoint(url=url), requests=2)

    assert [request.outcome for request in run.requests] == ["connect"] * 2
    assert run.requests[0].error.startswith("TLS: ")


def test_a_server_that_goes_during_the_handshake_is_a_failed_connection(serve, load):
    server = serve(lambda peer, number: None)
    url = server.url.replace("http:", "https:")

    run = load(Endpoint(url=url), requests=2)

    assert [request.outcome for request in run.requests] == ["connect"] * 2


def test_a_large_prompt_and_a_large_answer_pass_through_tls(serve_tls, load, wire, a_plan):
    answer = bytes(range(256)) * 20_000

    def script(peer, number):
        for request in peer.requests():
            assert len(request.body) == 3_000_002
            peer.send(wire.head, wire.chunk(answer), b"0\r\n\r\n")

    requests = [a_plan.planned(n, body='"' + "x" * 3_000_000 + '"') for n in range(3)]
    run = load(trusted(serve_tls(script)), requests=requests)

    assert [request.outcome for request in run.requests] == ["complete"] * 3
    assert {b"".join(request.fragments) for request in run.requests} == {answer}


def test_a_tls_server_that_closes_after_each_answer_loses_nothing(serve_tls, load, wire):
    def script(peer, number):
        peer.request()
        peer.send(*wire.streamed())

    run = load(trusted(serve_tls(script)), requests=24, concurrency=4)

    assert [request.outcome for request in run.requests] == ["complete"] * 24


def test_a_tls_answer_that_breaks_off_is_a_reset(serve_tls, load, wire):
    def script(peer, number):
        peer.request()
        peer.send(*wire.streamed()[:2])

    run = load(trusted(serve_tls(script)), requests=3)

    assert [request.outcome for request in run.requests] == ["reset"] * 3
    assert {b"".join(request.fragments) for request in run.requests} == {wire.event(" t0")}


def test_an_orderly_end_of_tls_ends_a_body_without_a_length(serve_tls, load):
    def script(peer, number):
        peer.request()
        peer.send(b"HTTP/1.1 200 OK\r\n\r\n", b"all there is")
        peer.end_tls()

    run = load(trusted(serve_tls(script)), requests=3)

    assert [request.outcome for request in run.requests] == ["complete"] * 3
    assert {b"".join(request.fragments) for request in run.requests} == {b"all there is"}


def test_an_authority_file_that_is_not_there_is_named(load):
    with pytest.raises(EndpointError, match=r"nowhere\.pem"):
        load(Endpoint(url="https://127.0.0.1/", tls=Tls(ca="nowhere.pem")))
