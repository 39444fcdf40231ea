"""S3 as the tests meet it: moto's server over HTTP, behind a proxy that breaks on order."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.flows.amazon.aws_endpoint import running_aws

REFUSAL = (
    '<?xml version="1.0"?>'
    "<Error><Code>{code}</Code><Message>as the test wishes</Message></Error>"
)


@dataclass
class Fault:
    """What happens to a method's requests whose path is ``only``'s, so many times."""

    method: str
    kind: str  # an error code, "cut", "changed" or "lost"
    status: int = 403
    times: int = 10**6
    only: Callable[[str], bool] = lambda path: True


@dataclass
class World:
    faults: list[Fault] = field(default_factory=list)
    seen: list[tuple[str, str]] = field(default_factory=list)

    def puts(self) -> list[str]:
        """Keys of the objects that were written, in their order."""
        return [path.split("/", 2)[2] for method, path in self.seen if method == "PUT"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1
    server: S3Proxy

    def answer(self) -> None:
        body = self._body()
        world, path = self.server.world, self.path.partition("?")[0]
        world.seen.append((self.command, path))
        fault = next(
            (
                each
                for each in world.faults
                if each.method == self.command and each.times > 0 and each.only(path)
            ),
            None,
        )
        if fault is not None:
            fault.times -= 1
        if fault is not None and fault.kind not in {"cut", "changed", "lost"}:
            self._send(fault.status, {}, REFUSAL.format(code=fault.kind).encode())
            return
        status, headers, content = self._forwarded(body)
        if fault is not None and fault.kind == "lost":
            self.close_connection = True
            return
        if fault is not None and fault.kind == "changed":
            content = bytes([content[0] ^ 1]) + content[1:]
        self._send(status, headers, content, cut=fault is not None and fault.kind == "cut")

    do_GET = do_PUT = do_HEAD = do_DELETE = do_POST = answer  # noqa: N815 - the library's names

    def _body(self) -> bytes:
        if self.headers.get("Expect", "").lower() == "100-continue":
            self.wfile.flush()
        if "chunked" not in self.headers.get("Transfer-Encoding", ""):
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            parts.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(parts)

    def _forwarded(self, body: bytes) -> tuple[int, dict[str, str], bytes]:
        sent = {
            name: value
            for name, value in self.headers.items()
            if name.lower() not in {"transfer-encoding", "expect", "connection"}
        }
        sent |= {"Content-Length": str(len(body)), "Connection": "close"}
        connection = http.client.HTTPConnection("127.0.0.1", self.server.upstream, timeout=30)
        try:
            connection.request(self.command, self.path, body=body, headers=sent)
            found = connection.getresponse()
            return found.status, dict(found.getheaders()), found.read()
        finally:
            connection.close()

    def _send(
        self, status: int, headers: dict[str, str], content: bytes, *, cut: bool = False
    ) -> None:
        length = headers.get("Content-Length", str(len(content)))
        self.send_response(status)
        for name, value in headers.items():
            if name.lower() not in {
                "content-length",
                "transfer-encoding",
                "connection",
                "date",
            }:
                self.send_header(name, value)
        self.send_header("Content-Length", length)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content[: len(content) // 2] if cut else content)
        if cut:
            self.close_connection = True

    def log_message(self, *words: object) -> None:
        pass


class S3Proxy(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, upstream: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.upstream = upstream
        self.world = World()

    def handle_error(self, request: Any, address: Any) -> None:
        pass

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


@contextmanager
def running_s3() -> Iterator[S3Proxy]:
    with running_aws() as aws:
        proxy = S3Proxy(aws.upstream)
        thread = threading.Thread(target=proxy.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
            proxy.server_close()
