"""An endpoint made ready to be sent to: addresses, TLS settings, the head of its requests."""

import ipaddress
import socket
import ssl
from collections.abc import Mapping
from dataclasses import dataclass
from time import monotonic_ns
from urllib.parse import SplitResult, urlsplit

from flows.load.address import shown
from flows.load.errors import EndpointError
from flows.load.plan import Endpoint, Tls

_PORTS = {"http": 80, "https": 443}
_DEFAULT_HEADERS = {
    "content-type": "application/json",
    "accept": "*/*",
    "accept-encoding": "identity",
    "user-agent": "runoff",
}
_OURS = ("content-length", "transfer-encoding", "connection", "expect")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where the requests of one endpoint go.

    `addresses` are tried in order; `dns_us` is what their look-up took (None: the host is
    an address). `head` is the request's head up to the value of content-length.
    """

    index: int
    name: str
    addresses: tuple[tuple[int, tuple[str | int, ...]], ...]
    dns_us: float | None
    tls: ssl.SSLContext | None
    host: str
    head: bytes

    def message(self, body: str) -> bytes:
        """Whole HTTP/1.1 request that POSTs `body`."""
        payload = body.encode()
        return b"%b%d\r\n\r\n%b" % (self.head, len(payload), payload)


def target(index: int, endpoint: Endpoint, *, loopback_only: bool) -> Target:
    """Resolve the endpoint; raises EndpointError where it cannot be used."""
    url = urlsplit(endpoint.url)
    name = shown(endpoint.url)
    host, port = _host_and_port(name, url)
    addresses, dns_us = _addresses(host, port)
    if loopback_only:
        _refuse_beyond_loopback(name, addresses)
    return Target(
        index=index,
        name=name,
        addresses=addresses,
        dns_us=dns_us,
        tls=_tls_context(endpoint.tls) if url.scheme == "https" else None,
        host=host,
        head=_head(url, host, endpoint.headers),
    )


def _host_and_port(text: str, url: SplitResult) -> tuple[str, int]:
    if url.scheme not in _PORTS or url.hostname is None or url.username is not None:
        raise EndpointError(f"{text}: an endpoint is http://HOST[:PORT]/PATH or https://…")
    try:
        return url.hostname, url.port or _PORTS[url.scheme]
    except ValueError as error:
        raise EndpointError(f"{text}: {error}") from error


def _addresses(
    host: str, port: int
) -> tuple[tuple[tuple[int, tuple[str | int, ...]], ...], float | None]:
    started_ns = monotonic_ns()
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise EndpointError(f"{host}: the name cannot be resolved: {error.strerror}") from error
    dns_us = (monotonic_ns() - started_ns) / 1e3
    addresses = tuple(
        (int(family), tuple(part for part in address if isinstance(part, (str, int))))
        for family, _, _, _, address in found
    )
    return addresses, None if _is_address(host) else dns_us


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _refuse_beyond_loopback(
    text: str, addresses: tuple[tuple[int, tuple[str | int, ...]], ...]
) -> None:
    for _, (host, *_) in addresses:
        if not ipaddress.ip_address(str(host).partition("%")[0]).is_loopback:
            raise EndpointError(
                f"{text}: resolves to {host}, beyond this machine, and RUNOFF_LOOPBACK_ONLY=1"
                " forbids that: unset it to send there"
            )


def _tls_context(tls: Tls) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=tls.ca)
    except (OSError, ssl.SSLError) as error:
        raise EndpointError(f"{tls.ca}: not a readable PEM file of authorities") from error
    if not tls.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols(["http/1.1"])
    return context


def _head(url: SplitResult, host: str, own: Mapping[str, str]) -> bytes:
    name = f"[{host}]" if ":" in host else host
    at_port = "" if url.port in (None, _PORTS[url.scheme]) else f":{url.port}"
    headers = {"host": name + at_port, **_DEFAULT_HEADERS}
    for key, value in own.items():
        if key.lower() in _OURS:
            raise EndpointError(f"header {key!r}: the load process sets it itself")
        headers[key.lower()] = value
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    # The values may be secrets, so only the names are told.
    if not path.isprintable():
        raise EndpointError(f"{shown(url.geturl())}: has unprintable text")
    for key, value in headers.items():
        if not f"{key}{value}".isprintable():
            raise EndpointError(f"header {key!r}: has unprintable text")
    lines = [f"POST {path} HTTP/1.1", *(f"{key}: {value}" for key, value in headers.items())]
    try:
        return "\r\n".join([*lines, "content-length: "]).encode("latin-1")
    except UnicodeEncodeError as error:
        raise EndpointError(
            f"{shown(url.geturl())}: a header or the path is not Latin-1"
        ) from error
