"""One open connection: written to without blocking, read with arrival stamps."""

import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic_ns

from flows.load.clock import ANCILLARY_BYTES, ArrivalClock
from flows.load.exchange import Exchange
from flows.load.poller import READABLE, WRITABLE, Poller

# Several chunks fit; asking for 64 KiB costs a seventh more per read, in allocation alone.
READ_BYTES = 16_384
# A connection that has waited this long may have been given up by the server meanwhile, as
# one that has carried an answer may.
_KEPT_NS = 1_000_000_000


def said(error: OSError) -> str:
    """The system's own words for what went wrong."""
    if isinstance(error, ssl.SSLError):
        return f"TLS: {getattr(error, 'verify_message', '') or error.reason or error}"
    return os.strerror(error.errno) if error.errno else str(error)


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told that an answer has ended, and that the connection has.

    `lost` gets the error, None where the server ended the connection in an orderly way.
    """

    answered: Callable[["Stream", int], None]
    lost: Callable[["Stream", str | None, int], None]


@dataclass(frozen=True, slots=True)
class Place:
    """A connection's number within the run, and the endpoint that it leads to."""

    number: int
    endpoint: int


class Stream:
    """A connection that carries one exchange at a time; `answers` counts those it carried."""

    def __init__(
        self,
        place: Place,
        connected: socket.socket,
        poller: Poller,
        clock: ArrivalClock,
        listeners: Listeners,
    ) -> None:
        self.number = place.number
        self.endpoint = place.endpoint
        self.exchange: Exchange | None = None
        self.answers = 0
        self.answered_ns = 0
        self.is_closed = False
        self._kept_from_ns = monotonic_ns() + _KEPT_NS
        self._socket = connected
        self._fd = connected.fileno()
        self._receive = connected.recvmsg
        self._poller = poller
        self._clock = clock
        self._listeners = listeners
        self._unwritten = memoryview(b"")
        poller.change(self._fd, READABLE, self._readable)

    def begin(self, exchange: Exchange, message: bytes) -> None:
        """Write `message` and take what comes back as the answer of `exchange`.

        A failed write shows itself when the socket is read, as an answer may be there.
        """
        self.exchange = exchange
        exchange.connection = self.number
        exchange.reused = self.answers > 0
        exchange.is_on_kept = self.answers > 0 or monotonic_ns() > self._kept_from_ns
        self._write(message)

    def is_written(self) -> bool:
        """Whether all bytes of the last message have gone to the kernel."""
        return not self._unwritten

    def close(self) -> None:
        """Close the socket; nothing is told any more."""
        self.is_closed = True
        self._poller.forget(self._fd)
        self._socket.close()

    def _write(self, data: bytes) -> None:
        # Before the write: kept from its clock after it, the client would flatter the server.
        now_ns = monotonic_ns()
        sent = self._send(data)
        if sent < len(data):
            self._unwritten = memoryview(data)[sent:]
            self._poller.change(self._fd, READABLE | WRITABLE, self._ready_for_both)
        elif self.exchange is not None:
            self.exchange.sent_ns = now_ns

    def _send(self, data: bytes | memoryview) -> int:
        try:
            return self._socket.send(data)
        except OSError:
            return 0

    def _ready_for_both(self, mask: int) -> None:
        if mask & WRITABLE:
            now_ns = monotonic_ns()
            self._unwritten = self._unwritten[self._send(self._unwritten) :]
            if not self._unwritten:
                if self.exchange is not None:
                    self.exchange.sent_ns = now_ns
                self._poller.change(self._fd, READABLE, self._readable)
        if mask & ~WRITABLE:
            self._readable(mask)

    def _readable(self, _mask: int) -> None:
        try:
            data, ancillary, _, _ = self._receive(READ_BYTES, ANCILLARY_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            self._listeners.lost(self, said(error), monotonic_ns())
            return
        if data:
            self._take(data, self._clock.arrival_ns(ancillary))
        else:
            self._listeners.lost(self, None, monotonic_ns())

    def _take(self, data: bytes, stamp_ns: int) -> None:
        if self.exchange is None:
            self._listeners.lost(self, "the server spoke without being asked", stamp_ns)
        elif self.exchange.take(data, stamp_ns):
            self.answers += 1
            self.answered_ns = stamp_ns
            self._listeners.answered(self, stamp_ns)


@dataclass(frozen=True, slots=True)
class Tls:
    """An established TLS session and its two sides of ciphertext."""

    session: ssl.SSLObject
    incoming: ssl.MemoryBIO
    outgoing: ssl.MemoryBIO


class TlsStream(Stream):
    """A stream whose bytes pass through TLS; stamps are those of the ciphertext."""

    def __init__(
        self,
        place: Place,
        connected: socket.socket,
        poller: Poller,
        clock: ArrivalClock,
        listeners: Listeners,
        *,
        tls: Tls,
    ) -> None:
        super().__init__(place, connected, poller, clock, listeners)
        self._tls = tls

    def _write(self, data: bytes) -> None:
        self._tls.session.write(data)
        super()._write(self._tls.outgoing.read())

    def _take(self, data: bytes, stamp_ns: int) -> None:
        self._tls.incoming.write(data)
        plain = bytearray()
        is_over, error = False, None
        try:
            while piece := self._tls.session.read(READ_BYTES):
                plain += piece
            is_over = True  # by an orderly close_notify
        except ssl.SSLWantReadError:
            pass
        except ssl.SSLError as problem:
            is_over, error = True, said(problem)
        if plain:
            super()._take(bytes(plain), stamp_ns)
        if is_over and not self.is_closed:
            self._listeners.lost(self, error, stamp_ns)
