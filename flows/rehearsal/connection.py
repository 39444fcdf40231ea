"""One HTTP/1.1 connection over a raw socket, so that every bad manner can be shown."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

import httptools

RECEIVE_BYTES = 1 << 18
MAX_BODY_BYTES = 64 << 20
RESET_ON_CLOSE = struct.pack("ii", 1, 0)  # SO_LINGER on, zero seconds: close sends RST
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


@dataclass(slots=True, kw_only=True)
class Request:
    """One parsed HTTP request and when it came."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    keep_alive: bool
    number_on_connection: int
    first_byte_ns: int
    arrived_ns: int

    @property
    def path(self) -> str:
        """Target without its query."""
        return self.target.partition("?")[0]


@dataclass(slots=True)
class _Partial:
    """A request whose bytes are still coming in."""

    first_byte_ns: int
    target: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    body: list[bytes] = field(default_factory=list)
    size: int = 0


class Connection:
    """Parses requests, answers them one after another, and owns its socket to the end.

    `serve` gets each request; whoever answers calls `send` and at last `finished`.
    `on_lost` is called once when the client goes away in the middle of an answer.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        *,
        serve: Callable[[Connection, Request], None],
        on_closed: Callable[[Connection], None],
        idle_close_s: float | None,
        latency_s: float,
        number: int,
    ) -> None:
        self.number = number
        self.on_lost: Callable[[], None] | None = None
        self.is_open = True
        self.requests = 0
        self._loop = loop
        self._sock = sock
        self._descriptor = sock.fileno()
        self._serve = serve
        self._on_closed = on_closed
        self._idle_close_s = idle_close_s
        self._latency_s = latency_s
        self._idle_timer: asyncio.TimerHandle | None = None
        self._parser = httptools.HttpRequestParser(self)
        self._partial: _Partial | None = None
        self._ready: deque[Request] = deque()
        self._is_answering = False
        self._unsent = bytearray()
        self._close_when_sent = False
        self._received_ns = 0
        loop.add_reader(self._descriptor, self._read)
        self._await_request()

    @property
    def is_busy(self) -> bool:
        """Whether an answer is under way."""
        return self._is_answering

    def send(self, data: bytes) -> int:
        """Write bytes now, the rest when the client reads; returns the time of the write."""
        now_ns = time.monotonic_ns()
        if self._latency_s:
            self._loop.call_later(self._latency_s, self._transmit, data)
        else:
            self._transmit(data)
        return now_ns

    def finished(self, *, close: bool) -> None:
        """End of an answer: close once all is sent, or go on with the next request."""
        self.in_order(lambda: self._finish(close))

    def in_order(self, action: Callable[[], None]) -> None:
        """Do something after all that was sent before has left."""
        if self._latency_s:
            self._loop.call_later(self._latency_s, action)
        else:
            action()

    def reset(self) -> None:
        """Break the connection: the client sees a reset, not an end."""
        if self.is_open:
            self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            self.close()

    def close(self) -> None:
        """Close the socket; unsent bytes are lost."""
        if not self.is_open:
            return
        self.is_open = False
        self._cancel_idle_timer()
        self._loop.remove_reader(self._descriptor)
        if self._unsent:
            self._loop.remove_writer(self._descriptor)
        self._sock.close()
        self._on_closed(self)

    def _transmit(self, data: bytes) -> None:
        if not self.is_open:
            return
        if self._unsent:
            self._unsent += data
            return
        try:
            sent = self._sock.send(data)
        except BlockingIOError:
            sent = 0
        except OSError:
            self._lost()
            return
        if sent < len(data):
            self._unsent += data[sent:]
            self._loop.add_writer(self._descriptor, self._write)

    def _finish(self, close: bool) -> None:
        self._is_answering = False
        self.on_lost = None
        if close:
            self._close_when_sent = True
            if not self._unsent:
                self.close()
        elif self._ready:
            self._next()
        else:
            self._await_request()

    def _lost(self) -> None:
        lost, self.on_lost = self.on_lost, None
        self.close()
        if lost is not None:
            lost()

    def _read(self) -> None:
        try:
            data = self._sock.recv(RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:
            self._lost()
            return
        self._received_ns = time.monotonic_ns()
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self.send(
                b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            )
            self.finished(close=True)

    def _write(self) -> None:
        try:
            sent = self._sock.send(self._unsent)
        except BlockingIOError:
            return
        except OSError:
            self._lost()
            return
        del self._unsent[:sent]
        if not self._unsent:
            self._loop.remove_writer(self._descriptor)
            if self._close_when_sent:
                self.close()

    def on_message_begin(self) -> None:
        """Parser: a request line has started."""
        self._cancel_idle_timer()
        self._partial = _Partial(self._received_ns)

    def on_url(self, url: bytes) -> None:
        """Parser: (a part of) the target."""
        self._message.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """Parser: one header."""
        self._message.headers[name.decode("latin-1").lower()] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Parser: the body follows."""
        if self._message.headers.get("expect", "").lower() == "100-continue":
            self.send(CONTINUE)

    def on_body(self, body: bytes) -> None:
        """Parser: a part of the body; what no real server would keep is dropped."""
        self._message.size += len(body)
        if self._message.size <= MAX_BODY_BYTES:
            self._message.body.append(body)

    def on_message_complete(self) -> None:
        """Parser: the request is whole."""
        message = self._message
        self._partial = None
        self._ready.append(
            Request(
                method=self._parser.get_method().decode("latin-1"),
                target=message.target.decode("latin-1"),
                headers=message.headers,
                body=b"".join(message.body),
                keep_alive=self._parser.should_keep_alive(),
                number_on_connection=self.requests,
                first_byte_ns=message.first_byte_ns,
                arrived_ns=self._received_ns,
            )
        )
        self.requests += 1
        if not self._is_answering:
            self._next()

    @property
    def _message(self) -> _Partial:
        if self._partial is None:
            raise RuntimeError("the parser reported a part before its message began")
        return self._partial

    def _next(self) -> None:
        if not self.is_open:
            return
        self._is_answering = True
        self._serve(self, self._ready.popleft())

    def _await_request(self) -> None:
        if self._idle_close_s is not None and self.is_open:
            self._idle_timer = self._loop.call_later(self._idle_close_s, self._idle_close)

    def _idle_close(self) -> None:
        if not self._is_answering and self._partial is None:
            self.close()

    def _cancel_idle_timer(self) -> None:
        if self._idle_timer is not None:
            self._idle_timer.cancel()
            self._idle_timer = None


def quiet_option(sock: socket.socket, level: int, option: int, value: int) -> None:
    """Set a socket option where the system has it."""
    with contextlib.suppress(OSError):
        sock.setsockopt(level, option, value)
