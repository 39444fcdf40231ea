"""``<replication>.cell.json``: written last, so a replication with it is complete.

It says what was asked of the cell, in which launch and when, and holds the SHA-256 of the
replication's other files: the records, the client's account, the server's, the telemetry.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from reports.run.number import Frozen, Real

if TYPE_CHECKING:
    from reports.cell.settings import CellSettings

FORMAT = 1


class AskedSlo(Frozen):
    """The limits that the cell was held against."""

    ttft_ms: Real | None = None
    itl_ms: Real | None = None
    itl_statistic: Literal["tpot", "p95_gap", "max_gap"] = "tpot"
    percentile: Real = 95.0
    goodput: Real | None = None
    first: Literal["token", "answer"] = "token"


class AskedCell(Frozen):
    """What the cell was asked to be: the fields of ``reports.cell.CellSettings``."""

    slo: AskedSlo
    arrival: Literal["poisson", "constant", "gamma", "closed", "trace"]
    offered_rate: Real | None = None
    burstiness: Real = 1.0
    concurrency: int | None = None
    output: Literal["forced", "natural"] = "forced"
    output_tokens: int | None = None
    planned_requests: int | None = None
    cached_share: Real = 0.0
    is_sharing_drawn: bool = True
    common_tokens: Real = 0.0

    @classmethod
    def of(cls, settings: CellSettings) -> AskedCell:
        """The settings as they are written down."""
        return cls.model_validate(settings, from_attributes=True)

    def settings(self) -> CellSettings:
        """The settings that ``summarise`` takes."""
        from reports.cell.settings import CellSettings, Slo  # noqa: PLC0415 - scipy is behind it

        return CellSettings(
            slo=Slo(**self.slo.model_dump()), **self.model_dump(exclude={"slo"})
        )


class CellFile(Frozen):
    """One measured replication of one cell.

    ``position`` is its place in the launch's order, from 0. ``client_cpus`` and
    ``server_cpus`` are those that each was held to (empty: not held). ``attempts`` holds the
    reasons of attempts before this one that did not become a cell. ``telemetry`` is the
    summary of the machine's samples in the measured window (``reports.telemetry``), ``clocks``
    whether the devices' clocks were locked or left as in production; null: nobody knows.
    """

    schema_version: Literal[1] = 1
    run: str
    candidate: str
    load_point: str
    key: str
    replication: int
    launch: str
    host: str
    load_host: str
    position: int
    seed: int
    basis: Literal["measurement", "simulation"]
    started_at: str
    ended_at: str
    asked: AskedCell
    client_cpus: tuple[int, ...] = ()
    server_cpus: tuple[int, ...] = ()
    attempts: tuple[str, ...] = ()
    foreign: dict[str, Any] | None = None
    telemetry: dict[str, Any] | None = None
    clocks: Literal["locked", "production"] | None = None
    files: dict[str, str]
