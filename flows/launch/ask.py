"""One HTTP request to the server, waited for without blocking.

While a server loads, an answer may take minutes, or come in drops; its log and its life are
watched meanwhile.
"""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final

import httptools

from flows.bench.endpoint import is_loopback
from flows.bench.http import Answer
from flows.errors import UsageError

_CONNECT_S: Final = 2.0
_READ_BYTES: Final = 1 << 16
_MOST_BYTES: Final = 1 << 24


class NoAnswerError(Exception):
    """The server did not answer in HTTP; its text says what it did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """Where the server of a launch listens, and the headers that it wants to see."""

    host: str
    port: int
    headers: Mapping[str, str]

    def __post_init__(self) -> None:
        if not is_loopback(self.host):
            raise UsageError(
                self.host,
                "a launched server listens on this machine only",
                "Give the address of a server elsewhere as an endpoint",
            )

    @property
    def url(self) -> str:
        """The server's base URL."""
        return f"http://{self.host}:{self.port}"


class Ask:
    """A connection for one question: opened, asked, and looked at until the answer is there.

    Raises
    ------
    NoAnswerError
        From each method, where the connection gives no answer.
    """

    def __init__(self, address: Address) -> None:
        self._address = address
        self._received = _Received()
        self._parser = httptools.HttpResponseParser(self._received)
        try:
            self._socket = socket.create_connection((address.host, address.port), _CONNECT_S)
        except OSError as error:
            raise NoAnswerError(_reason(error)) from None

    def send(self, path: str, body: object = None) -> None:
        """A GET, or a POST of a JSON body."""
        try:
            self._socket.sendall(_request(self._address, path, body))
            self._socket.setblocking(False)
        except OSError as error:
            raise NoAnswerError(_reason(error)) from None

    def answer(self) -> Answer | None:
        """The answer if it is there as a whole; None while it is not."""
        try:
            while not self._received.is_whole:
                data = self._socket.recv(_READ_BYTES)
                if not data:
                    return self._at_end()
                self._parser.feed_data(data)
                if len(self._received.body) > _MOST_BYTES:
                    raise NoAnswerError("an answer without end")
        except BlockingIOError:
            return None
        except (OSError, httptools.HttpParserError) as error:
            raise NoAnswerError(_reason(error)) from None
        return self._whole()

    def wait(self, timeout_s: float) -> None:
        """Return when something has come, or after this time."""
        select.select([self._socket], [], [], timeout_s)

    def close(self) -> None:
        """Close the connection, whatever is still to come."""
        self._socket.close()

    def _at_end(self) -> Answer:
        if not self._received.has_head:
            raise NoAnswerError("the connection was closed without an answer")
        return self._whole()

    def _whole(self) -> Answer:
        status = self._parser.get_status_code()
        return Answer(status=status, body=bytes(self._received.body))


class _Received:
    """What the parser has found so far."""

    def __init__(self) -> None:
        self.body = bytearray()
        self.has_head = False
        self.is_whole = False

    def on_headers_complete(self) -> None:
        self.has_head = True

    def on_body(self, data: bytes) -> None:
        self.body += data

    def on_message_complete(self) -> None:
        self.is_whole = True


def fetched(address: Address, path: str, timeout_s: float) -> Answer | None:
    """The answer to a GET; None where there is none within the time."""
    until_s = monotonic() + timeout_s
    try:
        ask = Ask(address)
    except NoAnswerError:
        return None
    try:
        ask.send(path)
        while (answer := ask.answer()) is None and monotonic() < until_s:
            ask.wait(max(0.0, until_s - monotonic()))
    except NoAnswerError:
        return None
    finally:
        ask.close()
    return answer


def json_of(answer: Answer) -> Any:
    """The JSON of an answer; None where it holds none."""
    try:
        return json.loads(answer.body)
    except ValueError:
        return None


def _request(address: Address, path: str, body: object) -> bytes:
    payload = b"" if body is None else json.dumps(body).encode()
    lines = [
        f"{'GET' if body is None else 'POST'} {path} HTTP/1.1",
        f"host: {address.host}:{address.port}",
        "accept: */*",
        "connection: close",
        *(f"{name}: {value}" for name, value in address.headers.items()),
    ]
    if body is not None:
        lines += ["content-type: application/json", f"content-length: {len(payload)}"]
    return "\r\n".join([*lines, "", ""]).encode() + payload


def _reason(error: Exception) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror.lower()
    return str(error) or type(error).__name__
