"""The rehearsal server: routes, readiness, and requests on their way into the engine."""

from __future__ import annotations

import asyncio
import socket
import sys
import time
from collections.abc import Callable
from http import HTTPStatus

import orjson

from flows.rehearsal import metrics
from flows.rehearsal.admission import Admission
from flows.rehearsal.api import ApiError, Kind, error_body
from flows.rehearsal.connection import Connection, Request
from flows.rehearsal.engine import Engine
from flows.rehearsal.independent import IndependentEngine
from flows.rehearsal.listener import Listener
from flows.rehearsal.settings import Settings
from flows.rehearsal.truth import TrueRequest

MARK = "x-runoff-rehearsal: 1\r\nserver: runoff-rehearsal\r\n"
GENERATIONS: dict[str, Kind] = {
    "/v1/completions": "completions",
    "/v1/chat/completions": "chat",
}


class Server:
    """One engine behind one listening socket on loopback."""

    def __init__(self, settings: Settings, loop: asyncio.AbstractEventLoop) -> None:
        self.settings = settings
        independent = settings.engine.scheduler == "independent"
        self.engine = (IndependentEngine if independent else Engine)(settings, loop)
        self.truth: list[TrueRequest] = []
        self.started_s = int(time.time())
        self.is_ready = False
        self._loop = loop
        kept = None if settings.truth is None else self.truth
        self._admission = Admission(settings, self.engine, loop, kept)
        self._stats = metrics.IterationStats()
        self._connections: set[Connection] = set()
        self._over_limit: set[Connection] = set()
        self._accepted_count = 0
        self._listener = Listener(loop, settings.port, settings.connection, self._accepted)

    @property
    def url(self) -> str:
        """Base URL of this server."""
        return f"http://127.0.0.1:{self._listener.port}"

    @property
    def is_busy(self) -> bool:
        """Whether any answer is under way."""
        return any(connection.is_busy for connection in self._connections)

    def listen(self) -> None:
        """Begin to accept connections."""
        self._listener.listen()

    def become_ready(self) -> None:
        """End of loading: requests are served from now on."""
        self.is_ready = True
        foreign = self.settings.foreign
        if foreign.streams:
            self._loop.call_later(foreign.after_s, self.engine.add_foreign)

    def stop_listening(self) -> None:
        """Refuse new connections; open ones go on."""
        self._listener.close()

    def close(self) -> None:
        """Close every socket and stop the engine."""
        self._listener.close()
        self.engine.close()
        for connection in list(self._connections):
            connection.close()

    def _accepted(self, sock: socket.socket, is_over_limit: bool) -> None:
        idle_ms = self.settings.connection.idle_close_ms
        connection = Connection(
            self._loop,
            sock,
            serve=self._serve,
            on_closed=self._closed,
            idle_close_s=None if idle_ms is None else idle_ms / 1e3,
            latency_s=self.settings.connection.latency_ms / 1e3,
            number=self._accepted_count,
        )
        self._accepted_count += 1
        self._connections.add(connection)
        if is_over_limit:
            self._over_limit.add(connection)

    def _closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        self._over_limit.discard(connection)
        self._listener.closed_one()

    def _serve(self, connection: Connection, request: Request) -> None:
        try:
            self._route(connection, request)
        except ApiError as error:
            retry = error.retry_after_s
            extra = "" if retry is None else f"retry-after: {retry}\r\n"
            self._reply(connection, request, error.status, error.body, extra=extra)

    def _route(self, connection: Connection, request: Request) -> None:
        if connection in self._over_limit:
            raise ApiError(503, "too many connections")
        kind = GENERATIONS.get(request.path)
        if request.path.startswith("/v1/"):
            self._authorise(request)
        if kind is not None:
            if request.method != "POST":
                raise ApiError(405, f"{request.method} is not allowed here: use POST")
            if not self.is_ready:
                raise ApiError(503, "Loading model", code="unavailable")
            self._note()
            self._admission.admit(kind, connection, request, MARK)
            return
        page = self._pages().get(request.path)
        if page is None:
            raise ApiError(404, f"no such path: {request.path}")
        if request.method not in ("GET", "HEAD"):
            raise ApiError(405, f"{request.method} is not allowed here: use GET")
        status, content_type, body = page()
        self._reply(connection, request, status, body, content_type=content_type)

    def _authorise(self, request: Request) -> None:
        key = self.settings.identity.api_key
        if key is not None and request.headers.get("authorization") != f"Bearer {key}":
            raise ApiError(401, "the API key is missing or wrong", code="invalid_api_key")

    def _note(self) -> None:
        """Write a line of log as long as asked; a full pipe then stops the whole server."""
        size = self.settings.lifecycle.log_bytes_per_request
        if size:
            sys.stdout.write("x" * (size - 1) + "\n")
            sys.stdout.flush()

    def _reply(
        self,
        connection: Connection,
        request: Request,
        status: int,
        body: bytes,
        *,
        content_type: str = metrics.JSON,
        extra: str = "",
    ) -> None:
        closes = not request.keep_alive or not self.settings.connection.keep_alive
        head = (
            f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n{MARK}{extra}"
            f"connection: {'close' if closes else 'keep-alive'}\r\n"
            f"content-type: {content_type}\r\ncontent-length: {len(body)}\r\n\r\n"
        )
        shown = b"" if request.method == "HEAD" else body
        connection.send(head.encode("latin-1") + shown)
        connection.finished(close=closes)

    def _pages(self) -> dict[str, Callable[[], tuple[int, str, bytes]]]:
        pages: dict[str, Callable[[], tuple[int, str, bytes]]] = {
            "/health": self._health,
            "/v1/models": self._models,
        }
        if self.settings.identity.metrics:
            pages["/metrics"] = self._metrics
        match self.settings.dialect:
            case "vllm":
                pages["/version"] = self._version
            case "sglang":
                pages |= {"/server_info": self._info, "/get_server_info": self._info}
                pages["/version"] = self._version
            case "tensorrt_llm":
                pages |= {"/version": self._version, "/server_info": self._info}
                if self.settings.identity.metrics:
                    pages |= {
                        "/prometheus/metrics": self._metrics,
                        "/metrics": self._iterations,
                    }
            case "llama_server":
                pages["/props"] = self._props
        return pages

    def _health(self) -> tuple[int, str, bytes]:
        green = self.is_ready or self.settings.lifecycle.while_loading == "green"
        if green:
            return 200, metrics.JSON, b'{"status":"ok"}'
        return 503, metrics.JSON, error_body(503, "Loading model", code="unavailable")

    def _models(self) -> tuple[int, str, bytes]:
        identity = self.settings.identity
        served = () if not self.is_ready else (self.settings.model,)
        names = served if identity.models is None else identity.models
        length = identity.reported_max_model_len or self.settings.engine.max_model_len
        models = [
            {
                "id": name,
                "object": "model",
                "created": self.started_s,
                "owned_by": "rehearsal",
                "max_model_len": length,
            }
            for name in names
        ]
        return 200, metrics.JSON, orjson.dumps({"object": "list", "data": models})

    def _version(self) -> tuple[int, str, bytes]:
        return 200, metrics.JSON, orjson.dumps({"version": self.settings.identity.version})

    def _info(self) -> tuple[int, str, bytes]:
        engine = self.settings.engine
        info = {
            "version": self.settings.identity.version,
            "model_path": self.settings.model,
            "max_running_requests": engine.max_num_seqs,
            "chunked_prefill_size": engine.token_budget,
            "context_length": self.settings.identity.reported_max_model_len
            or engine.max_model_len,
            "max_total_num_tokens": engine.kv_blocks * engine.block_tokens,
            "dtype": "bfloat16",
            "tp_size": 1,
            **self.settings.identity.reported,
        }
        return 200, metrics.JSON, orjson.dumps(info)

    def _props(self) -> tuple[int, str, bytes]:
        engine = self.settings.engine
        context = self.settings.identity.reported_max_model_len or engine.context_limit
        props = {
            "total_slots": engine.max_num_seqs,
            "default_generation_settings": {"n_ctx": context},
            "model_path": self.settings.model,
            "build_info": self.settings.identity.version,
            **self.settings.identity.reported,
        }
        return 200, metrics.JSON, orjson.dumps(props)

    def _metrics(self) -> tuple[int, str, bytes]:
        series = metrics.DIALECTS[self.settings.dialect](self.engine, self.settings)
        missing = self.settings.identity.metrics_missing
        return 200, metrics.TEXT, metrics.render(series, missing)

    def _iterations(self) -> tuple[int, str, bytes]:
        return 200, metrics.JSON, self._stats.take(self.engine)
