"""A way from a port of this machine to one of a host's, for questions to a server there."""

from __future__ import annotations

import select
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

from flows.errors import InfrastructureError

_READ_BYTES: Final = 1 << 16
_LOOK_S: Final = 0.1


class Tunnel:
    """A port of this machine that leads to one of the host; for control, never for load."""

    def __init__(self, open_channel: Callable[[], Any]) -> None:
        """``open_channel`` is called for each connection, and may raise InfrastructureError."""
        self._open_channel = open_channel
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._is_closed = threading.Event()
        self._threads: list[threading.Thread] = []
        self._thread = threading.Thread(target=self._accept, name="tunnel", daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        port: int = self._listener.getsockname()[1]
        return port

    def close(self) -> None:
        """Take no more connections, and end those that there are."""
        self._is_closed.set()
        self._thread.join()
        self._listener.close()
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while not self._is_closed.is_set():
            if not select.select([self._listener], [], [], _LOOK_S)[0]:
                continue
            near, _ = self._listener.accept()
            thread = threading.Thread(target=self._carry, args=(near,), daemon=True)
            thread.start()
            self._threads = [each for each in self._threads if each.is_alive()] + [thread]

    def _carry(self, near: socket.socket) -> None:
        with near:
            try:
                far = self._open_channel()
            except InfrastructureError:
                return
            try:
                with suppress(OSError, EOFError):
                    self._exchange(near, far)
            finally:
                far.close()

    def _exchange(self, near: socket.socket, far: Any) -> None:
        while not self._is_closed.is_set():
            ready = select.select([near, far], [], [], _LOOK_S)[0]
            for source, target in ((near, far), (far, near)):
                if source in ready:
                    data = source.recv(_READ_BYTES)
                    if not data:
                        return
                    target.sendall(data)
