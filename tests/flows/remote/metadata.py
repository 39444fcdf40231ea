"""A machine's metadata service as AWS has it (IMDSv2): what it tells of the machine's end."""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

SPOT = "/latest/meta-data/spot/instance-action"
REBALANCE = "/latest/meta-data/events/recommendations/rebalance"


class Metadata(ThreadingHTTPServer):
    """Answers only with a token that it has given out; what is not told is not found."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.told: dict[str, Any] = {}
        self.tokens: set[str] = set()
        self.refused = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Metadata

    def do_PUT(self) -> None:
        if (
            self.path == "/latest/api/token"
            and self.headers["X-aws-ec2-metadata-token-ttl-seconds"]
        ):
            self.server.tokens.add(token := secrets.token_hex(8))
            self._answer(200, token.encode())
        else:
            self._answer(400, b"")

    def do_GET(self) -> None:
        if self.headers["X-aws-ec2-metadata-token"] not in self.server.tokens:
            self.server.refused += 1
            self._answer(401, b"Unauthorized")
        elif self.path in self.server.told:
            found = self.server.told[self.path]
            text = found if isinstance(found, str) else json.dumps(found)
            self._answer(200, text.encode())
        else:
            self._answer(404, b"not found")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: object) -> None:
        pass


@contextmanager
def serving_metadata() -> Iterator[Metadata]:
    server = Metadata()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
