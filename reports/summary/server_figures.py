"""Figures of the servers' own account (``server.json``) over all servers of a cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def queue_time_p95_ms(server: Mapping[str, Any]) -> float | None:
    """p95 of the wait in the server, in ms; None where only limits or nothing are known."""
    value = (server.get("server_queue_time_p95") or {}).get("value")
    return None if value is None else float(value) * 1000


def gauge_most(server: Mapping[str, Any], name: str) -> float | None:
    """The greatest reading of a gauge in the measured window, over all servers."""
    found = [gauges[name]["most"].get("value") for gauges in _parts(server, "gauges", name)]
    return max((value for value in found if value is not None), default=None)


def total(server: Mapping[str, Any], name: str) -> float | None:
    """What all servers counted in the whole cell; None where one of them does not tell."""
    servers = server.get("servers") or ()
    found = [counted[name].get("value") for counted in _parts(server, "counted", name)]
    if not found or len(found) < len(servers) or None in found:
        return None
    return float(sum(found))


def client_total(server: Mapping[str, Any], name: str) -> float | None:
    """The client's sum over the same requests, kept beside the servers' counters."""
    found = [each["client"].get(name) for each in server.get("servers") or ()]
    return None if not found or None in found else float(sum(found))


def share(server: Mapping[str, Any], name: str) -> float | None:
    """The largest share of that name among the servers; None where none tells."""
    found = [shares[name].get("value") for shares in _parts(server, "shares", name)]
    return max((value for value in found if value is not None), default=None)


def _parts(server: Mapping[str, Any], part: str, name: str) -> Iterator[Mapping[str, Any]]:
    for each in server.get("servers") or ():
        if name in each.get(part, {}):
            yield each[part]
