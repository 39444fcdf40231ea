"""Which addresses a load test may be sent to, and what they speak."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from flows.errors import UsageError
from flows.load.address import shown
from flows.load.plan import Dialect, Endpoint, Tls

_FLAG = "--endpoint"


def checked_endpoint(url: str, headers: Mapping[str, str], tls: Tls) -> Endpoint:
    """The endpoint at ``url``; http is for loopback, everything else speaks https."""
    parts = split(url)
    if parts.scheme == "http" and not is_loopback(parts.hostname or ""):
        raise UsageError(
            _FLAG,
            f"{shown(url)} would send prompts and keys in the clear to another host",
            "Use https, or a tunnel that ends on 127.0.0.1",
        )
    dialect_of(url)
    return Endpoint(url=url, headers=dict(headers), tls=tls)


def split(url: str) -> SplitResult:
    """The parts of an http or https address, checked."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise UsageError(_FLAG, f"{shown(url)!r} is no address ({error})", _example()) from None
    if parts.scheme.startswith("grpc"):
        raise UsageError(_FLAG, f"{shown(url)} is gRPC: SSE over HTTP only", _example())
    if parts.scheme not in ("http", "https") or not parts.hostname or port == 0:
        raise UsageError(_FLAG, f"{shown(url)!r} is no http or https address", _example())
    return parts


def dialect_of(url: str) -> Dialect:
    """What an endpoint speaks, by the end of its path."""
    path = split(url).path.rstrip("/")
    if path.endswith("/chat/completions"):
        return "chat"
    if path.endswith("/completions"):
        return "completions"
    raise UsageError(_FLAG, f"{shown(url)} names no completions endpoint", _example())


def is_loopback(host: str) -> bool:
    """True for names and addresses of this machine that never leave it."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def root_of(url: str) -> str:
    """The address in front of the API's version, where a server has its ``/metrics``."""
    return re.sub(r"/v\d+$", "", _api_of(url))


def sibling_of(url: str, name: str) -> str:
    """The address of another call beside the completions one, such as ``models``."""
    return f"{_api_of(url)}/{name}"


def _api_of(url: str) -> str:
    parts = split(url)
    path = parts.path.rstrip("/").removesuffix("/completions").removesuffix("/chat")
    return f"{parts.scheme}://{parts.netloc}{path}"


def _example() -> str:
    return (
        "Give the full address of the call, as in http://localhost:8000/v1/completions "
        "or https://host/v1/chat/completions"
    )
