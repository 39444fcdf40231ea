"""The listening socket: loopback only, with the knobs of a slow or full server."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Callable

from flows.rehearsal.checked import SettingsError
from flows.rehearsal.settings import ConnectionSettings

LOOPBACK = "127.0.0.1"
ACCEPTS_PER_TURN = 64


class Listener:
    """Accepts connections and hands on those that the settings allow."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        port: int,
        settings: ConnectionSettings,
        on_socket: Callable[[socket.socket, bool], None],
    ) -> None:
        self._loop = loop
        self._settings = settings
        self._on_socket = on_socket
        self._open = 0
        self._is_reading = False
        self._is_listening = False
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.setblocking(False)
        try:
            self._socket.bind((LOOPBACK, port))
        except OSError as error:
            self._socket.close()
            raise SettingsError(f"port {port} cannot be opened: {error.strerror}") from None
        self.port: int = self._socket.getsockname()[1]

    def listen(self) -> None:
        """Begin to accept; before this, connections are refused."""
        self._socket.listen(self._settings.backlog)
        self._is_listening = True
        self._resume()

    def closed_one(self) -> None:
        """Take note that an accepted connection has closed."""
        self._open -= 1
        if self._is_listening:
            self._resume()

    def close(self) -> None:
        """Stop listening."""
        if self._is_listening:
            self._is_listening = False
            self._pause()
        self._socket.close()

    @property
    def _is_full(self) -> bool:
        limit = self._settings.max_connections
        return limit is not None and self._open >= limit

    def _resume(self) -> None:
        if self._is_reading or not self._is_listening:
            return
        if self._is_full and self._settings.over_limit == "wait":
            return
        self._is_reading = True
        self._loop.add_reader(self._socket.fileno(), self._accept)

    def _pause(self) -> None:
        if self._is_reading:
            self._is_reading = False
            self._loop.remove_reader(self._socket.fileno())

    def _accept(self) -> None:
        slow = self._settings.accept_delay_ms > 0
        for _ in range(1 if slow else ACCEPTS_PER_TURN):
            if self._is_full and self._settings.over_limit == "wait":
                self._pause()
                return
            try:
                accepted, _ = self._socket.accept()
            except (BlockingIOError, ConnectionAbortedError):
                return
            self._hand_on(accepted)
        if slow:
            self._pause()
            self._loop.call_later(self._settings.accept_delay_ms / 1e3, self._resume)

    def _hand_on(self, accepted: socket.socket) -> None:
        if self._is_full and self._settings.over_limit == "close":
            accepted.close()
            return
        is_over = self._is_full
        self._open += 1
        accepted.setblocking(False)
        with contextlib.suppress(OSError):
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._on_socket(accepted, is_over)
