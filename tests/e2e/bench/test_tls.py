"""An https endpoint with a certificate of one's own authority."""

from __future__ import annotations

import contextlib
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("load")]


@pytest.fixture
def authority(tmp_path: Path, openssl: str) -> Path:
    """A folder with ca.pem, and a server certificate for localhost that it has signed."""
    new = "req -newkey rsa:2048 -nodes"
    signed = "-CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -extfile names"
    (tmp_path / "names").write_text("subjectAltName=DNS:localhost,IP:127.0.0.1\n")
    for line in (
        f"{new} -x509 -days 2 -subj /CN=own-ca -keyout ca.key -out ca.pem",
        f"{new} -subj /CN=localhost -keyout server.key -out server.csr",
        f"x509 -req -in server.csr {signed} -out server.pem",
    ):
        subprocess.run([openssl, *line.split()], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def pump(source: socket.socket, sink: socket.socket) -> None:
    """Copy bytes one way until the end."""
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
    with contextlib.suppress(OSError):
        sink.shutdown(socket.SHUT_RDWR)


def carry(accepted: socket.socket, context: ssl.SSLContext, port: int) -> None:
    """Serve one TLS connection by a plain one to the engine."""
    with contextlib.suppress(OSError):
        outer = context.wrap_socket(accepted, server_side=True)
        inner = socket.create_connection(("127.0.0.1", port))
        inner.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        back = threading.Thread(target=pump, args=(inner, outer))
        back.start()
        pump(outer, inner)
        back.join()
        outer.close()
        inner.close()


@contextlib.contextmanager
def terminator(authority: Path, port: int) -> Iterator[int]:
    """A TLS server on a free port in front of the engine."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "server.pem", authority / "server.key")
    listener = socket.create_server(("127.0.0.1", 0))
    threads: list[threading.Thread] = []

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                accepted, _ = listener.accept()
                threads.append(threading.Thread(target=carry, args=(accepted, context, port)))
                threads[-1].start()

    accepting = threading.Thread(target=accept)
    accepting.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()
        for thread in threads:
            thread.join()


def test_an_authority_of_ones_own_is_trusted_when_it_is_given(engine, bench, authority):
    with terminator(authority, engine().port) as port:
        url = f"https://localhost:{port}/v1/completions"
        result = bench(url, concurrency=3, num_requests=70, ca_file=authority / "ca.pem")

    assert result.summary["requests"]["ok"] == result.summary["requests"]["planned"]
    (connections,) = result.summary["connections"]
    assert connections["tls_us"] > 0
    assert connections["connect_us"] > 0


def test_an_unknown_authority_is_refused_before_the_clock_unless_any_is_accepted(
    engine, bench, authority
):
    with terminator(authority, engine().port) as port:
        url = f"https://localhost:{port}/v1/completions"
        refused = bench(url, concurrency=3, num_requests=70)
        accepted = bench(url, concurrency=3, num_requests=70, insecure=True)

    assert refused.code == 8
    assert "certificate is not trusted" in refused.said
    assert "--ca-file" in refused.said
    assert accepted.summary["requests"]["ok"] == accepted.summary["requests"]["planned"]
