"""Single requests outside the measured window: blocking, one connection each.

One whose connection is reset is asked again: it measures nothing, and a way to the server that
was cut for a moment is no fault of the server's.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from flows.bench.endpoint import is_loopback, split
from flows.errors import InfrastructureError, UsageError
from flows.load.address import shown
from flows.load.plan import Endpoint, Tls

CONNECT_TIMEOUT_S = 10.0
_PAUSES_S = (0.5, 1.5)
LOOPBACK_ONLY = "RUNOFF_LOOPBACK_ONLY"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """Status, body and headers of an HTTP answer; header names in lower case."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The body as text, whatever its bytes."""
        return self.body.decode(errors="replace")


def post(endpoint: Endpoint, body: str, timeout_s: float) -> Answer:
    """The answer to a JSON body POSTed to an endpoint."""
    headers = {"Content-Type": "application/json", **endpoint.headers}
    return _ask("POST", endpoint.url, headers, endpoint.tls, timeout_s=timeout_s, body=body)


def get(url: str, endpoint: Endpoint, timeout_s: float) -> Answer:
    """The answer to a GET of a URL of the same server, with the endpoint's headers."""
    return _ask("GET", url, endpoint.headers, endpoint.tls, timeout_s=timeout_s)


def _ask(
    method: str,
    url: str,
    headers: Mapping[str, str],
    tls: Tls,
    *,
    timeout_s: float,
    body: str | None = None,
) -> Answer:
    parts = split(url)
    _refuse_beyond_loopback(shown(url), parts.hostname or "")
    payload = None if body is None else body.encode()
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def ask() -> Answer:
        connection = _connection(parts.scheme, parts.hostname or "", parts.port, tls)
        try:
            connection.connect()
            connection.sock.settimeout(timeout_s)
            connection.request(method, target, body=payload, headers=dict(headers))
            answer = connection.getresponse()
            found = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(status=answer.status, body=answer.read(), headers=found)
        finally:
            connection.close()

    try:
        for pause_s in _PAUSES_S:
            try:
                return ask()
            except (ConnectionResetError, BrokenPipeError):
                time.sleep(pause_s)  # a tunnel that was cut stands again by then
        return ask()
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(shown(url), error, timeout_s) from None


def _connection(
    scheme: str, host: str, port: int | None, tls: Tls
) -> http.client.HTTPConnection:
    if scheme == "http":
        return http.client.HTTPConnection(host, port, timeout=CONNECT_TIMEOUT_S)
    context = ssl.create_default_context(cafile=tls.ca)
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return http.client.HTTPSConnection(host, port, timeout=CONNECT_TIMEOUT_S, context=context)


def _refuse_beyond_loopback(url: str, host: str) -> None:
    if os.environ.get(LOOPBACK_ONLY) == "1" and not is_loopback(host):
        raise UsageError(
            url,
            f"{LOOPBACK_ONLY}=1 keeps every request on this machine",
            "Unset it to reach other hosts",
        )


def _unreachable(url: str, error: Exception, timeout_s: float) -> InfrastructureError:
    if isinstance(error, ssl.SSLCertVerificationError):
        return InfrastructureError(
            url,
            f"its certificate is not trusted ({error.verify_message})",
            "Give the authority with --ca-file, or --insecure to accept any",
        )
    if isinstance(error, ssl.SSLError):
        return InfrastructureError(
            url, f"no TLS there ({error.reason})", "Check the scheme and the port"
        )
    if isinstance(error, socket.gaierror):
        return InfrastructureError(url, "its host name is unknown", "Check the name")
    if isinstance(error, ConnectionRefusedError):
        return InfrastructureError(
            url, "nothing listens there", "Start the server, or check host and port"
        )
    if isinstance(error, TimeoutError):
        return InfrastructureError(
            url,
            f"not connected within {CONNECT_TIMEOUT_S:g} s or not answered in {timeout_s:g} s",
            "Wait until the server is ready, or raise --timeout",
        )
    seen = str(error) or type(error).__name__
    return InfrastructureError(url, f"no HTTP answer ({seen})", "Check the server's log")
