"""A server that generates nothing, on time, and remembers when it wrote each chunk.

``python -P -m flows.bench.null_server LOG``: answers every POST with a stream of chunks at a
fixed pace and prints its address. At SIGTERM it writes LOG: per request its sequence number
(taken from the body's ``seed``) and the monotonic times just before and just after each of
its writes, as JSON lines.
"""

from __future__ import annotations

import gc
import json
import re
import select
import signal
import socket
import sys
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic_ns
from types import FrameType
from typing import Final

TTFT_NS: Final = 50_000_000
GAP_NS: Final = 10_000_000
TOKENS: Final = 128

_READ_BYTES: Final = 1 << 18
_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_SEED: Final = re.compile(rb'"seed": *(\d+)')


def _chunk(text: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(text), text)


def _event(text: str, reason: str | None) -> bytes:
    choice = {"index": 0, "text": text, "finish_reason": reason}
    return b"data: " + json.dumps({"choices": [choice]}).encode() + b"\n\n"


_TOKEN: Final = _chunk(_event(" word", None))
_USAGE: Final = json.dumps({"choices": [], "usage": {"completion_tokens": TOKENS}})
_LAST: Final = (
    _chunk(_event(" word", "length") + f"data: {_USAGE}\n\ndata: [DONE]\n\n".encode())
    + b"0\r\n\r\n"
)


@dataclass(slots=True)
class Client:
    """One connection and the answer that it is being sent."""

    socket: socket.socket
    received: bytes = b""
    sequence: int = 0
    due_ns: int = 0
    before_ns: list[int] = field(default_factory=list)
    after_ns: list[int] = field(default_factory=list)

    def take(self, data: bytes) -> bool:
        """Take what has come; True when a whole request is there."""
        self.received += data
        head, end, body = self.received.partition(b"\r\n\r\n")
        length = _LENGTH.search(head)
        if not end or length is None or len(body) < int(length[1]):
            return False
        seed = _SEED.search(body)
        self.sequence = int(seed[1]) if seed else -1
        self.received, self.before_ns, self.after_ns = b"", [], []
        return True

    def write_next(self) -> bool:
        """Write the next chunk and note when; True when it was the last."""
        count = len(self.before_ns)
        chunk = _LAST if count == TOKENS - 1 else _TOKEN
        if count == 0:
            chunk = _HEAD + chunk
        self.before_ns.append(monotonic_ns())
        self.socket.sendall(chunk)
        self.after_ns.append(monotonic_ns())
        return count == TOKENS - 1


class NullServer:
    """Serves until `stop`; answers start and continue in the order in which they are due."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self._poll = select.epoll()
        self._poll.register(self._listener, select.EPOLLIN)
        self._clients: dict[int, Client] = {}
        self._starting: deque[Client] = deque()
        self._running: deque[Client] = deque()
        self._stopped = False
        self.log: list[tuple[int, list[int], list[int]]] = []
        self.port: int = self._listener.getsockname()[1]

    def stop(self, _number: int, _frame: FrameType | None) -> None:
        """Signal handler: end after the current turn."""
        self._stopped = True

    def serve(self) -> None:
        """Handle what is due and what has come, until stopped."""
        while not self._stopped:
            for descriptor, _ in self._poll.poll(self._wait_s()):
                if descriptor == self._listener.fileno():
                    self._accept()
                else:
                    self._receive(self._clients[descriptor])
            self._write(self._starting)
            self._write(self._running)

    def _wait_s(self) -> float:
        heads = [queue[0].due_ns for queue in (self._starting, self._running) if queue]
        if not heads:
            return 1.0
        return max(0, min(heads) - monotonic_ns()) / 1e9

    def _accept(self) -> None:
        accepted, _ = self._listener.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._clients[accepted.fileno()] = Client(accepted)
        self._poll.register(accepted, select.EPOLLIN)

    def _receive(self, client: Client) -> None:
        try:
            data = client.socket.recv(_READ_BYTES)
        except OSError:
            data = b""
        if not data:
            self._drop(client)
        elif client.take(data):
            client.due_ns = monotonic_ns() + TTFT_NS
            self._starting.append(client)

    def _drop(self, client: Client) -> None:
        self._poll.unregister(client.socket)
        del self._clients[client.socket.fileno()]
        client.socket.close()

    def _write(self, queue: deque[Client]) -> None:
        now_ns = monotonic_ns()
        while queue and queue[0].due_ns <= now_ns:
            client = queue.popleft()
            try:
                is_over = client.write_next()
            except OSError:
                continue  # the reader has gone; its end is seen when it is read
            if is_over:
                self.log.append((client.sequence, client.before_ns, client.after_ns))
            else:
                client.due_ns += GAP_NS
                self._running.append(client)


def main() -> None:
    """Serve until SIGTERM, then write the log."""
    server = NullServer()
    signal.signal(signal.SIGTERM, server.stop)
    sys.stdout.write(f"listening on http://127.0.0.1:{server.port}\n")
    sys.stdout.flush()
    gc.freeze()
    gc.disable()
    server.serve()
    with Path(sys.argv[1]).open("w", encoding="ascii") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in server.log)


if __name__ == "__main__":
    main()
