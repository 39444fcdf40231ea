"""A measurement that another tool made, and one of ours for another tool, as values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from reports.columns import RequestColumns, columns_of

Process = Literal["closed", "poisson", "gamma", "constant"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreign:
    """One run of another tool.

    ``rate_per_s`` is that of an open loop, ``streams`` those of a closed one, and
    ``max_in_flight`` the cap of an open loop (None: none). ``lists`` are the fields of
    ``RequestColumns`` but for those that say which run it is. ``is_service_only``: when
    requests were due is not known, only when they were sent. ``notes`` say what was converted
    and what is not known.
    """

    where: str
    label: str | None
    model: str
    date: str
    process: Process
    rate_per_s: float | None
    burstiness: float
    streams: int | None
    max_in_flight: int | None
    lists: Mapping[str, Sequence[Any]]
    is_service_only: bool
    notes: tuple[str, ...]

    def columns(self, *, run: str, cell: str, replication: int, launch: str) -> RequestColumns:
        """The requests as records of a run of ours."""
        return columns_of(
            self.lists, run=run, cell=cell, replication=replication, launch=launch, shard=0
        )

    def __len__(self) -> int:
        return len(self.lists["sequence"])


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnCell:
    """One measured replication of ours; ``columns`` hold its measured requests alone."""

    candidate: str
    model: str
    started_at: str
    process: str
    rate_per_s: float | None
    burstiness: float
    max_in_flight: int | None
    columns: RequestColumns
