"""A way that is cut for a moment costs no request; a server that always resets is told."""

from __future__ import annotations

import socket
import struct
import threading

import pytest

from flows.bench import http
from flows.bench.http import get
from flows.errors import InfrastructureError
from flows.load.plan import Endpoint

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


class Resetting:
    """A server that resets so many connections before it answers one."""

    def __init__(self, resets: int) -> None:
        self._resets = resets
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/metrics"
        self.asked = 0
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                self.asked += 1
                if self.asked > self._resets:
                    connection.sendall(ANSWER)
                else:
                    now = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, now)

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()


@pytest.fixture
def resetting(monkeypatch):
    monkeypatch.setattr(http, "_PAUSES_S", (0.01, 0.01))
    started = []

    def start(resets: int) -> Resetting:
        started.append(Resetting(resets))
        return started[-1]

    yield start
    for each in started:
        each.close()


def test_a_connection_that_is_reset_is_asked_again(resetting):
    server = resetting(2)

    assert get(server.url, Endpoint(url=server.url), 5.0).text == "ok"
    assert server.asked == 3


def test_a_server_that_always_resets_is_told(resetting):
    server = resetting(99)

    with pytest.raises(InfrastructureError, match="no HTTP answer"):
        get(server.url, Endpoint(url=server.url), 5.0)
    assert server.asked == 3
