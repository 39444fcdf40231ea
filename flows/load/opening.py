"""A connection on its way: TCP, then TLS, the next address where one does not answer."""

import contextlib
import errno
import os
import socket
import ssl
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from time import monotonic_ns

from flows.load.clock import SO_TIMESTAMPNS
from flows.load.poller import READABLE, WRITABLE, Poller
from flows.load.stream import READ_BYTES, Tls, said
from flows.load.target import Target

# struct tcp_info: the kernel's estimate of the round trip, in µs, is the word at this offset.
_TCP_INFO_BYTES, _RTT_AT, _WORD_BYTES = 104, 68, 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A connected socket with what its set-up took; `rtt_us` is the kernel's estimate."""

    socket: socket.socket
    tls: Tls | None
    connect_us: float
    tls_us: float | None
    rtt_us: int
    opened_ns: int


class Opening:
    """Opens one connection to `target` without blocking.

    `opened` or `failed` is called once, perhaps before `start` returns.
    """

    def __init__(
        self,
        target: Target,
        poller: Poller,
        opened: Callable[["Opening", Opened], None],
        failed: Callable[["Opening", str], None],
    ) -> None:
        self.target = target
        self.started_ns = monotonic_ns()
        self._poller = poller
        self._opened = opened
        self._failed = failed
        self._addresses = list(target.addresses)
        self._current: socket.socket | None = None

    def start(self, error: str = "it has no address") -> None:
        """Connect to the next address that has not been tried, else fail with `error`."""
        while self._addresses:
            family, address = self._addresses.pop(0)
            try:
                self._connect(socket.socket(family, socket.SOCK_STREAM), address)
            except OSError as problem:
                error = said(problem)
            else:
                return
        self._failed(self, error)

    def give_up(self, error: str) -> None:
        """Try no longer and fail with `error`."""
        self._addresses.clear()
        self._drop(error)

    def _connect(self, connecting: socket.socket, address: tuple[str | int, ...]) -> None:
        connecting.setblocking(False)
        connecting.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connecting.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        began_ns = monotonic_ns()
        code = connecting.connect_ex(address)
        if code not in (0, errno.EINPROGRESS):
            connecting.close()
            raise OSError(code, os.strerror(code))
        self._current = connecting
        self._poller.watch(
            connecting.fileno(), WRITABLE, partial(self._connected, connecting, began_ns)
        )

    def _drop(self, error: str) -> None:
        if self._current is not None:
            self._poller.forget(self._current.fileno())
            self._current.close()
            self._current = None
        self.start(error)

    def _connected(self, connected: socket.socket, began_ns: int, _mask: int) -> None:
        code = connected.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
        if code:
            self._drop(os.strerror(code))
            return
        now_ns = monotonic_ns()
        info = connected.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_BYTES)
        tcp = Opened(
            socket=connected,
            tls=None,
            connect_us=(now_ns - began_ns) / 1e3,
            tls_us=None,
            rtt_us=int.from_bytes(info[_RTT_AT : _RTT_AT + _WORD_BYTES], "little"),
            opened_ns=now_ns,
        )
        if self.target.tls is None:
            self._opened(self, tcp)
            return
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        session = self.target.tls.wrap_bio(incoming, outgoing, server_hostname=self.target.host)
        tls = Tls(session, incoming, outgoing)
        self._poller.change(connected.fileno(), READABLE, partial(self._shake, tcp, tls))
        self._shake(tcp, tls, 0)

    def _shake(self, tcp: Opened, tls: Tls, mask: int) -> None:
        """Take the TLS handshake as far as what has been received allows."""
        try:
            if mask:
                tls.incoming.write(_received(tcp.socket))
            tls.session.do_handshake()
        except (BlockingIOError, ssl.SSLWantReadError):
            _send_all(tcp.socket, tls.outgoing)
        except OSError as error:
            self._drop(said(error))
        else:
            _send_all(tcp.socket, tls.outgoing)
            now_ns = monotonic_ns()
            self._opened(
                self,
                Opened(
                    socket=tcp.socket,
                    tls=tls,
                    connect_us=tcp.connect_us,
                    tls_us=(now_ns - tcp.opened_ns) / 1e3,
                    rtt_us=tcp.rtt_us,
                    opened_ns=now_ns,
                ),
            )


def _received(connected: socket.socket) -> bytes:
    data = connected.recv(READ_BYTES)
    if not data:
        raise ConnectionResetError(errno.ECONNRESET, "ended during the TLS handshake")
    return data


def _send_all(connected: socket.socket, outgoing: ssl.MemoryBIO) -> None:
    # A handshake's few kilobytes fit into a fresh socket's buffer, and one that cannot be
    # written to says why when it is read.
    with contextlib.suppress(OSError):
        connected.send(outgoing.read())
