"""``summary.json``: what was measured, per candidate, cell and replication, and over them.

Derived from the evidence files alone; no decision is in it.

Format history:
1  first version.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import Field, field_validator

from catalog.quantity import Basis
from reports.run.number import Frozen, Number, Real
from reports.run.plan_file import LoadPoint

FORMAT = 1

ClauseVerdict = Literal["holds", "misses", "inconclusive", "no such clause"]
_TOLD_IN: Final = ("ttft", "itl", "goodput", "throughput", "tpot", "p95_gap", "max_gap")
CellVerdict = Literal["client-bound", "invalid", "cap-bound", "not-steady", "valid"]


class ReplicationSummary(Frozen):
    """One launch's measurement of a cell; ``document`` is the object of ``bench --json``.

    ``figures`` are this launch's values of the cell's ``measures``; None is unknown, and also
    what lies beyond the failures or is infinite. ``telemetry`` is what the machine's samples
    sum up to, None where it was not sampled.
    """

    replication: int
    launch: str
    host: str = ""
    verdict: CellVerdict
    problems: tuple[str, ...]
    records: str
    figures: dict[str, Real | None] = Field(default_factory=dict)
    document: dict[str, Any]
    telemetry: dict[str, Any] | None = None


class ClauseSummary(Frozen):
    """One clause of the contract over all replications of a cell.

    ``limit`` and the number are milliseconds, or a share for ``goodput``.
    """

    name: Literal["ttft", "itl", "goodput", "throughput"]
    statistic: str
    limit: Real | None
    number: Number
    verdict: ClauseVerdict
    why: str = ""


class CellSummary(Frozen):
    """One cell over its replications.

    ``measures`` are medians over launches with their intervals, by name: ``ttft_p95_ms``,
    ``service_ttft_p95_ms``, ``tpot_p95_ms``, ``itl_p95_ms``, ``e2e_p95_ms`` (also p50, p90,
    p99), ``output_tokens_per_s``, ``compliant_tokens_per_s``, ``requests_per_s``,
    ``achieved_rate``, ``in_flight_mean``, ``interactivity_tok_per_s``,
    ``output_tok_per_s_per_device``, ``server_queue_time_p95_ms``, ``usd_per_1m_output``,
    ``usd_per_1m_compliant``, ``compliant_tok_per_machine_hour``, ``send_lag_p99_ms``,
    ``kv_use_max``, ``preemptions``. Latencies are with failures as infinite; money is of the
    whole instance, in the currency of the number's unit whatever the measure's name.
    ``goodput`` is the goodput clause under each ITL statistic. ``verdict`` is the worst.
    """

    load_point: str
    point: LoadPoint | None = None
    key: str
    basis: Basis
    verdict: CellVerdict
    problems: tuple[str, ...]
    requests: dict[str, int]
    replications: tuple[ReplicationSummary, ...]
    measures: dict[str, Number]
    clauses: dict[str, ClauseSummary]
    goodput: dict[str, ClauseSummary]
    lockstep: bool = False

    @field_validator("clauses", "goodput")
    @classmethod
    def _in_order(cls, found: dict[str, ClauseSummary]) -> dict[str, ClauseSummary]:
        """In the contract's order, in which they are told: a file's keys are sorted."""
        return {name: found[name] for name in _TOLD_IN if name in found} | found


class LaunchSummary(Frozen):
    """One launch: whether it came up, how long that took, what it said of itself."""

    replication: int
    state: Literal["ready", "failed", "died"]
    start_s: Real | None = None
    fingerprint: str | None = None
    differences: tuple[str, ...] = ()
    threats: tuple[str, ...] = ()
    error: str | None = None


class CandidateSummary(Frozen):
    """All that was measured of one candidate."""

    name: str
    cells: tuple[CellSummary, ...] = ()
    launches: tuple[LaunchSummary, ...] = ()
    first_token_s: Number | None = None
    quality: dict[str, Any] | None = None

    def cell(self, load_point: str) -> CellSummary | None:
        """The cell at a load point; None where it was not measured."""
        return next((each for each in self.cells if each.load_point == load_point), None)


class Summary(Frozen):
    """The whole campaign as measured. ``interrupted`` says why it ended early, if it did."""

    schema_version: Literal[1] = 1
    method_version: int
    campaign: str
    run: str
    rehearsal: bool
    imported: bool = False
    candidates: tuple[CandidateSummary, ...]
    spent_usd: Number | None = None
    machine_seconds: Real | None = None
    interrupted: str | None = None

    def candidate(self, name: str) -> CandidateSummary | None:
        """The candidate's part; None where nothing of it was measured."""
        return next((each for each in self.candidates if each.name == name), None)
