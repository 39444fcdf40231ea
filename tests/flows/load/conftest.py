"""Servers whose every byte a test decides, and plans to send to them."""

import contextlib
import json
import socket
import struct
import threading
from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest

from flows.load.plan import Endpoint, PlanHeader, PlannedRequest, Warmup, write_plan
from flows.load.raw import read_raw
from flows.load.run import run_plan

RESET_ON_CLOSE = struct.pack("ii", 1, 0)


@dataclass
class Request:
    head: str
    body: bytes

    @property
    def headers(self):
        lines = (line.partition(": ") for line in self.head.split("\r\n")[1:])
        return {name: value for name, _, value in lines}


class Peer:
    """The server's side of one connection."""

    def __init__(self, connection, server):
        self._connection = connection
        self._server = server
        self._unread = b""

    def request(self):
        """Next whole request, None when the client has closed the connection."""
        while b"\r\n\r\n" not in self._unread:
            if not self._receive():
                return None
        head, _, self._unread = self._unread.partition(b"\r\n\r\n")
        request = Request(head.decode(), b"")
        length = int(request.headers["content-length"])
        while len(self._unread) < length:
            if not self._receive():
                return None
        request.body, self._unread = self._unread[:length], self._unread[length:]
        self._server.requests.append(request)
        return request

    def requests(self):
        while (request := self.request()) is not None:
            yield request

    def head_only(self):
        """Read a request's head and leave its body unread."""
        while b"\r\n\r\n" not in self._unread:
            if not self._receive():
                return
        self._server.requests.append(Request("", b""))

    def _receive(self):
        data = self._connection.recv(1 << 20)
        self._unread += data
        return data

    def set_timeout(self, idle_s):
        """Close the connection, as the end of the script does, after `idle_s` of silence."""
        self._connection.settimeout(idle_s)

    def send(self, *parts):
        for part in parts:
            self._connection.sendall(part)

    def wait_for_close(self):
        while self._connection.recv(1 << 16):
            pass

    def end_tls(self):
        with contextlib.suppress(OSError):
            self._connection.unwrap()

    def reset(self):
        self._connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
        self._connection.close()

    def shut(self):
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)


@dataclass
class Server:
    """Runs `script(peer, number)` in a thread for each connection, closes it afterwards."""

    script: object
    tls: object = None
    host: str = "127.0.0.1"
    requests: list = field(default_factory=list)
    connections: int = 0
    in_flight: int = 0
    peak: int = 0

    def __post_init__(self):
        self.lock = threading.Lock()
        self._listener = socket.create_server((self.host, 0), backlog=512)
        self.port = self._listener.getsockname()[1]
        self._peers = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    @property
    def url(self):
        scheme = "https" if self.tls else "http"
        return f"{scheme}://{self.host}:{self.port}/v1/completions"

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            number, self.connections = self.connections, self.connections + 1
            thread = threading.Thread(target=self._serve, args=(connection, number))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection, number):
        with contextlib.suppress(OSError):
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            peer = Peer(connection, self)
            self._peers.append(peer)
            self.script(peer, number)
        connection.close()

    @contextlib.contextmanager
    def busy(self):
        """Count a request as in flight meanwhile."""
        with self.lock:
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
        try:
            yield
        finally:
            with self.lock:
                self.in_flight -= 1

    def close_listener(self):
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def stop(self):
        self.close_listener()
        self._threads[0].join()
        for peer in self._peers:
            peer.shut()
        for thread in self._threads[1:]:
            thread.join()


@pytest.fixture
def serve():
    """Starts servers; they are stopped when the test ends."""
    servers = []

    def start(script, **options):
        servers.append(Server(script, **options))
        return servers[-1]

    yield start
    for server in servers:
        server.stop()


def event(text):
    choice = {"index": 0, "text": text, "finish_reason": None}
    return b"data: %s\n\n" % json.dumps({"choices": [choice]}).encode()


def chunk(data):
    return b"%x\r\n%b\r\n" % (len(data), data)


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
STREAM = b"".join(event(f" t{n}") for n in range(4)) + b"data: [DONE]\n\n"


def streamed(tokens=4):
    """The bytes of a whole streamed answer, in the pieces in which a server writes them."""
    events = [event(f" t{number}") for number in range(tokens)]
    return [STREAM_HEAD, *map(chunk, events), chunk(b"data: [DONE]\n\n"), b"0\r\n\r\n"]


def answer_all(peer, number):
    """A well-behaved server: keep-alive, one streamed answer per request."""
    for _ in peer.requests():
        peer.send(*streamed())


@pytest.fixture(scope="session")
def wire():
    """Building blocks of answers, for tests that put them together otherwise."""
    return SimpleNamespace(
        head=STREAM_HEAD,
        body=STREAM,
        event=event,
        chunk=chunk,
        streamed=streamed,
        answer_all=answer_all,
    )


def header(endpoints, **changes):
    given = {
        "run": "r",
        "cell": "c",
        "replication": 1,
        "shard": 0,
        "seed": 42,
        "endpoints": tuple(endpoints),
        "arrival": "closed",
        "concurrency": 2,
        "offered_rate": None,
        "timeout_s": 20.0,
        "warmup": Warmup(mode="fixed", requests=0),
        "measured_requests": 8,
        "duration_s": None,
        "dialect": "completions",
    }
    return PlanHeader(**{**given, **changes})


def planned(sequence, **changes):
    given = {
        "sequence": sequence,
        "at_ns": None,
        "session": sequence,
        "turn": 0,
        "think_ns": 0,
        "endpoint": 0,
        "prompt_id": sequence,
        "prompt_tokens": 4,
        "output_tokens": 4,
        "body": f'{{"prompt": "{sequence}", "stream": true}}',
    }
    return PlannedRequest(**{**given, **changes})


@pytest.fixture(scope="session")
def a_plan():
    """Header and requests of a small closed loop, to be changed at will."""
    return SimpleNamespace(header=header, planned=planned)


@pytest.fixture
def load(tmp_path):
    """Runs a plan in this process; returns what the raw file says."""

    def run(*servers, requests=8, **changes):
        endpoints = [
            server if isinstance(server, Endpoint) else Endpoint(url=server.url)
            for server in servers
        ]
        if isinstance(requests, int):
            requests = [planned(number) for number in range(requests)]
        changes.setdefault("measured_requests", len(requests))
        head = header(endpoints, **changes)
        write_plan(tmp_path / "plan", head, requests)
        run_plan(tmp_path / "plan", tmp_path / "raw", loopback_only=True)
        return read_raw(tmp_path / "raw")

    return run
