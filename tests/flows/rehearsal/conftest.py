"""A started server per test, and a client that sees single segments and how a socket ended."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import uvloop

from flows.rehearsal import Settings, Truth, overlaid
from flows.rehearsal.server import Server

QUICK = {
    "steps": {
        "decode_base_ms": 2,
        "decode_per_sequence_ms": 0,
        "prefill_base_ms": 2,
        "prefill_per_token_ms": 0,
    }
}


class Served:
    """A server on real sockets in a thread: what a process would do, started in no time."""

    def __init__(self, settings: Settings) -> None:
        self.loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
        self.server = Server(settings, self.loop)
        self.port = int(self.server.url.rpartition(":")[2])
        self.loop.call_soon(self.server.become_ready)
        self.loop.call_soon(self.server.listen)
        listening = threading.Event()
        self.loop.call_soon(listening.set)
        self.thread = threading.Thread(target=self.loop.run_forever)
        self.thread.start()
        listening.wait()

    def now(self, question: Callable[[], Any]) -> Any:
        """Answer of a question asked in the server's thread."""
        answers: list[Any] = []
        asked = threading.Event()
        self.loop.call_soon_threadsafe(lambda: (answers.append(question()), asked.set()))
        asked.wait()
        return answers[0]

    def truth(self) -> Truth:
        engine = self.server.engine
        requests = self.now(lambda: list(self.server.truth))
        return Truth(
            anchor_monotonic_ns=0,
            anchor_unix_ns=0,
            overruns=engine.overruns,
            requests=requests,
        )

    def close(self) -> None:
        self.now(self.server.close)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


@dataclass
class Seen:
    """What a client saw of one answer."""

    segments: list[tuple[float, bytes]] = field(default_factory=list)
    ended: str = "open"

    @property
    def raw(self) -> bytes:
        return b"".join(data for _, data in self.segments)

    @property
    def head(self) -> str:
        return self.raw.partition(b"\r\n\r\n")[0].decode("latin-1")

    @property
    def status(self) -> int:
        return int(self.head.split(" ", 2)[1])

    @property
    def headers(self) -> dict[str, str]:
        lines = self.head.split("\r\n")[1:]
        return {k.lower(): v for k, v in (line.split(": ", 1) for line in lines)}

    @property
    def body(self) -> bytes:
        rest = self.raw.partition(b"\r\n\r\n")[2]
        if self.headers.get("transfer-encoding") != "chunked":
            return rest
        body = b""
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            body += rest[: int(size, 16)]
            rest = rest[int(size, 16) + 2 :]
        return body

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def events(self) -> list[str]:
        """Data of each event, comments left out."""
        return [
            block[6:]
            for block in self.body.decode().split("\n\n")
            if block.startswith("data: ")
        ]

    @property
    def chunks(self) -> list[Any]:
        return [json.loads(data) for data in self.events if data != "[DONE]"]

    @property
    def texts(self) -> list[str]:
        return [c["choices"][0]["text"] for c in self.chunks if c.get("choices")]


class Client:
    """One connection; requests go out as given, everything that comes back is kept."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def send(
        self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None
    ) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", "host: rehearsal"]
        lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
        if data:
            lines.append(f"content-length: {len(data)}")
        self.socket.sendall("\r\n".join([*lines, "", ""]).encode() + data)

    def read(self, timeout_s: float = 10, until: bytes | None = None) -> Seen:
        """Read until the answer is whole as framed, or `until` is there, or time is up."""
        seen = Seen()
        end = time.monotonic() + timeout_s
        while not (_is_whole(seen) if until is None else until in seen.raw):
            self.socket.settimeout(max(0.001, end - time.monotonic()))
            try:
                data = self.socket.recv(1 << 20)
            except TimeoutError:
                seen.ended = "timeout"
                break
            except ConnectionResetError:
                seen.ended = "reset"
                break
            if not data:
                seen.ended = "eof"
                break
            seen.segments.append((time.monotonic(), data))
        return seen

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> Seen:
        self.send(method, path, body, headers)
        return self.read()

    def stream(self, **fields: Any) -> Seen:
        return self.ask("POST", "/v1/completions", completion(**fields))

    def close(self) -> None:
        self.socket.close()


def _is_whole(seen: Seen) -> bool:
    head, separator, rest = seen.raw.partition(b"\r\n\r\n")
    if not separator:
        return False
    headers = head.lower()
    if b"transfer-encoding: chunked" in headers:
        return rest.endswith(b"0\r\n\r\n")
    if b"content-length: " in headers:
        return len(rest) >= int(headers.partition(b"content-length: ")[2].split(b"\r\n")[0])
    return False


def completion(**fields: Any) -> dict[str, Any]:
    """Body of a streamed completion of four tokens, with changes."""
    plain = {
        "model": "rehearsal",
        "prompt": [1, 2, 3, 4],
        "max_tokens": 4,
        "stream": True,
        "ignore_eos": True,
        "temperature": 0,
    }
    return plain | fields


@pytest.fixture
def serve() -> Iterator[Callable[..., Served]]:
    """Start servers with quick steps and the given settings; all end with the test."""
    running: list[Served] = []

    def begin(**settings: Any) -> Served:
        wanted = overlaid(QUICK | {"truth": "kept in memory"}, settings)
        running.append(Served(Settings.from_json(wanted)))
        return running[-1]

    yield begin
    for server in running:
        server.close()


@pytest.fixture
def connect() -> Iterator[Callable[[Served], Client]]:
    """Open client connections; all close with the test."""
    clients: list[Client] = []

    def begin(server: Served) -> Client:
        clients.append(Client(server.port))
        return clients[-1]

    yield begin
    for client in clients:
        client.close()


@pytest.fixture
def answer(
    serve: Callable[..., Served], connect: Callable[[Served], Client]
) -> Callable[..., Seen]:
    """One streamed completion (fields of `body`) from a server with these settings."""

    def get(body: dict[str, Any] | None = None, **settings: Any) -> Seen:
        return connect(serve(**settings)).stream(**(body or {}))

    return get


@pytest.fixture
def chat(
    serve: Callable[..., Served], connect: Callable[[Served], Client]
) -> Callable[..., Seen]:
    """One chat answer (fields of `body`) from a server with these settings."""

    def get(body: dict[str, Any] | None = None, **settings: Any) -> Seen:
        plain = {
            "model": "rehearsal",
            "messages": [{"role": "user", "content": "one two three"}],
            "max_tokens": 6,
            "stream": True,
        }
        client = connect(serve(**settings))
        return client.ask("POST", "/v1/chat/completions", plain | (body or {}))

    return get
