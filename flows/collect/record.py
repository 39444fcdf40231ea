"""``<replication>.server.json``: the server's own account of one replication.

Format history:
1  first version.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from catalog.quantity import Basis
from flows.collect.account import ServerAccount
from flows.collect.client import ClientSide
from flows.collect.figure import Found
from flows.collect.gauges import Course
from flows.collect.queue_time import Evidence, queue_time_mean, queue_time_p95
from flows.collect.server import Watched

FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerRecord:
    """All servers of a cell, and how long requests waited in them."""

    queue_time_p95: Found
    queue_time_mean: Found
    servers: tuple[ServerAccount, ...]

    def to_json(self, identity: Mapping[str, Any]) -> dict[str, Any]:
        """The record as JSON values, with the run, cell and replication that it is of."""
        return {
            "schema_version": FORMAT,
            **identity,
            **self.queue_times(),
            "servers": [server.to_json() for server in self.servers],
        }

    def queue_times(self) -> dict[str, Any]:
        """The part of the record that is in every cell's summary."""
        return {
            "server_queue_time_p95": self.queue_time_p95.to_json(),
            "server_queue_time_mean": self.queue_time_mean.to_json(),
        }


def record_of(servers: Sequence[Watched], client: ClientSide) -> ServerRecord:
    """The servers' account of a cell; ``client`` has the requests to all of them."""
    evidence = Evidence(
        basis=_basis(servers),
        client=client,
        servers=tuple(server.waits() for server in servers),
        waiting=_all_waiting([server.waiting for server in servers]),
        series=next(
            (
                server.series["queue_time"].name
                for server in servers
                if "queue_time" in server.series
            ),
            None,
        ),
    )
    return ServerRecord(
        queue_time_p95=queue_time_p95(evidence),
        queue_time_mean=queue_time_mean(evidence),
        servers=tuple(server.account() for server in servers),
    )


def _basis(servers: Sequence[Watched]) -> Basis:
    is_simulated = any(server.basis is Basis.SIMULATION for server in servers)
    return Basis.SIMULATION if is_simulated else Basis.MEASUREMENT


def _all_waiting(courses: Sequence[Course | None]) -> Course | None:
    """Requests that waited anywhere; None where one server does not tell."""
    known = [course for course in courses if course is not None]
    if not known or len(known) < len(courses):
        return None
    return Course(
        mean=sum(course.mean for course in known),
        most=max(course.most for course in known),
        n=min(course.n for course in known),
    )
