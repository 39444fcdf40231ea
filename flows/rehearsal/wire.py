"""An answer's body on its way to the socket: framing, segments, and a buffering proxy."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Literal

from flows.rehearsal.connection import Connection
from flows.rehearsal.streamshape import WireShape

CRLF = b"\r\n"
LAST_CHUNK = b"0\r\n\r\n"
CHUNK_HEADS = tuple(b"%x\r\n" % size for size in range(4096))

Framing = Literal["chunked", "close", "length"]


class Body:
    """Writes one answer: head, then payloads as framed bytes, then the end.

    `length` holds everything back until the length is known. `write` returns the time at
    which its bytes went to the socket, or None while they are held back.
    """

    def __init__(
        self,
        connection: Connection,
        loop: asyncio.AbstractEventLoop,
        shape: WireShape,
        framing: Framing,
        wrote: Callable[[int], None],
    ) -> None:
        self.framing = framing
        self.is_started = False
        self._connection = connection
        self._shape = shape
        self._wrote = wrote
        self._head = b""
        self._held: list[bytes] = []
        self._chunked = framing == "chunked"
        self._shaper: _Shaper | None = None
        if shape.split_bytes or shape.bunch_ms or shape.bunch_bytes:
            self._shaper = _Shaper(connection, loop, shape, wrote)

    def start(self, status: str, headers: str) -> None:
        """Send the head, or keep it until the length is known."""
        self.is_started = True
        head = f"HTTP/1.1 {status}\r\n{headers}"
        if self.framing == "length":
            self._head = head.encode("latin-1")
            return
        if self._chunked:
            head += "transfer-encoding: chunked\r\n"
        self._send(head.encode("latin-1") + CRLF, False)

    def write(self, payload: bytes) -> None:
        """Send one payload: a whole event or several."""
        if self._chunked:
            self._send(self._frame(payload), True)
        elif self.framing == "length":
            self._held.append(payload)
        else:
            self._send(payload, True)

    def end(self, then: Callable[[], None]) -> None:
        """Send what ends the body and call back when everything before it is sent."""
        if self._chunked:
            self._send(LAST_CHUNK, False)
        elif self.framing == "length":
            body = b"".join(self._held)
            length = b"content-length: %d\r\n\r\n" % len(body)
            self._send(self._head + length + body, bool(self._held))
        self.flush(then)

    def flush(self, then: Callable[[], None]) -> None:
        """Call back when everything written so far has gone to the socket."""
        if self._shaper is None:
            then()
        else:
            self._shaper.after_all(then)

    def _frame(self, payload: bytes) -> bytes:
        size = len(payload)
        step = self._shape.http_chunk_bytes
        if step:
            parts = [payload[i : i + step] for i in range(0, size, step)]
            return b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
        head = CHUNK_HEADS[size] if size < 4096 else b"%x\r\n" % size
        return head + payload + CRLF

    def _send(self, data: bytes, is_payload: bool) -> None:
        if self._shaper is not None:
            self._shaper.add(data, is_payload)
            return
        at_ns = self._connection.send(data)
        if is_payload:
            self._wrote(at_ns)


class _Shaper:
    """Holds bytes back as a proxy does and cuts them into small segments."""

    def __init__(
        self,
        connection: Connection,
        loop: asyncio.AbstractEventLoop,
        shape: WireShape,
        wrote: Callable[[int], None],
    ) -> None:
        self._connection = connection
        self._loop = loop
        self._shape = shape
        self._wrote = wrote
        self._bunch: list[bytes] = []
        self._bunch_events = 0
        self._bunch_timer: asyncio.TimerHandle | None = None
        self._queue: deque[tuple[bytes, int] | Callable[[], None]] = deque()
        self._is_paused = False

    def add(self, data: bytes, is_payload: bool) -> None:
        self._bunch.append(data)
        self._bunch_events += is_payload
        held = sum(map(len, self._bunch))
        if self._shape.bunch_bytes and held >= self._shape.bunch_bytes:
            self._flush_bunch()
        elif self._shape.bunch_ms:
            if self._bunch_timer is None:
                delay_s = self._shape.bunch_ms / 1e3
                self._bunch_timer = self._loop.call_later(delay_s, self._flush_bunch)
        elif not self._shape.bunch_bytes:
            self._flush_bunch()

    def after_all(self, then: Callable[[], None]) -> None:
        self._flush_bunch()
        self._queue.append(then)
        self._drain()

    def _flush_bunch(self) -> None:
        if self._bunch_timer is not None:
            self._bunch_timer.cancel()
            self._bunch_timer = None
        if not self._bunch:
            return
        data, events = b"".join(self._bunch), self._bunch_events
        self._bunch, self._bunch_events = [], 0
        step = self._shape.split_bytes or len(data)
        pieces = [data[i : i + step] for i in range(0, len(data), step)]
        self._queue.extend((piece, 0) for piece in pieces[:-1])
        self._queue.append((pieces[-1], events))
        self._drain()

    def _drain(self) -> None:
        while self._queue and not self._is_paused:
            item = self._queue.popleft()
            if callable(item):
                item()
                continue
            data, events = item
            at_ns = self._connection.send(data)
            for _ in range(events):
                self._wrote(at_ns)
            if self._shape.split_bytes and self._shape.split_pause_ms:
                self._is_paused = True
                self._loop.call_later(self._shape.split_pause_ms / 1e3, self._resume)

    def _resume(self) -> None:
        self._is_paused = False
        self._drain()
