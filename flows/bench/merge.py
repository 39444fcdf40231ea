"""The raw files of a cell's shards as the request records of one cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from deploy_templates.plan import AnswerField
from flows.bench.masking import masked
from flows.bench.spec import CellSpec
from flows.bench.traffic import OurRequests
from flows.bench.workload import TokenCount
from flows.collect.answers import answered
from flows.load.parse import parse_run
from flows.load.raw import Connection, RawRun, read_raw
from reports.columns import NULL, Flags, RequestColumns, columns_of, concatenated
from reports.records import Anchor, Records, write_records

NO_FIELDS: Final[Mapping[int, Mapping[str, AnswerField]]] = {}
_ABORTED: Final = ("timed_out", "cancelled", "failed_reset")


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardFacts:
    """What a shard's process said of itself and of its run."""

    client: dict[str, Any]
    connections: tuple[Connection, ...]
    complete: bool
    warmup_converged: bool | None
    warmup_requests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedRun:
    """All shards' requests with one window; times of one machine's monotonic clock.

    ``answered`` holds, by request, what its answer said of itself, in seconds.
    """

    records: Records
    shards: tuple[ShardFacts, ...]
    window: tuple[int, int]
    answered: tuple[Mapping[str, float], ...]

    def write_records(self, path: Path) -> None:
        """Write the requests as Parquet."""
        write_records(path, self.records)

    def ours(self, endpoints: int) -> list[OurRequests]:
        """When our requests were in the servers, by endpoint."""
        columns = self.records.columns
        was_sent = columns.sent_ns != NULL
        return [
            self._between(columns.where(was_sent & (columns.endpoint == index)))
            for index in range(endpoints)
        ]

    def _between(self, columns: RequestColumns) -> OurRequests:
        never_ns = np.iinfo(np.int64).max - (1 << 62)
        return OurRequests(
            sent_ns=columns.sent_ns,
            done_ns=np.where(columns.done_ns == NULL, never_ns, columns.done_ns),
            was_aborted=np.isin(columns.outcome, _ABORTED),
        )


def merged(
    spec: CellSpec,
    paths: Sequence[Path],
    count_tokens: TokenCount | None,
    fields: Mapping[int, Mapping[str, AnswerField]] = NO_FIELDS,
) -> MergedRun:
    """The run that the shards' raw files hold together.

    ``fields`` are, by endpoint, what its answers may say of themselves.
    """
    runs = [read_raw(path) for path in paths]
    parts = [
        columns_of(
            parse_run(run, count_tokens).lists(),
            run=spec.run,
            cell=spec.cell,
            replication=spec.replication,
            launch=spec.launch,
            shard=shard,
        )
        for shard, run in enumerate(runs)
    ]
    window = _window(runs, is_counted=spec.amount.duration_s is None)
    columns = _unrevealing(_within(concatenated(parts), window), spec)
    anchor = Anchor(monotonic_ns=runs[0].anchor_monotonic_ns, unix_ns=runs[0].anchor_unix_ns)
    return MergedRun(
        records=Records(columns=columns, anchor=anchor),
        shards=tuple(_facts(run) for run in runs),
        window=window,
        answered=tuple(
            answered(request.fragments, fields.get(request.endpoint, {}))
            for run in runs
            for request in run.requests
        ),
    )


def _facts(run: RawRun) -> ShardFacts:
    return ShardFacts(
        client=dict(run.client),
        connections=run.connections,
        complete=run.complete,
        warmup_converged=run.warmup_converged,
        warmup_requests=run.warmup_requests,
    )


def _window(runs: Sequence[RawRun], *, is_counted: bool) -> tuple[int, int]:
    """From the first measured request of all shards to the last one.

    Where the shards' own clocks or judges ended their warm-ups it is from the time at which
    the last of them did. Where each discarded the number that was planned for it, none of
    the planned requests may be lost.
    """
    windows = [run.window for run in runs if run.window is not None]
    if len(windows) < len(runs):
        return runs[0].ended_ns, runs[0].ended_ns  # a shard has measured nothing
    is_as_planned = is_counted and not any(run.warmup_converged for run in runs)
    begin = min if is_as_planned else max
    return begin(first for first, _ in windows), max(last for _, last in windows)


def _unrevealing(columns: RequestColumns, spec: CellSpec) -> RequestColumns:
    """The same with errors that do not repeat what the headers carry."""
    error = columns.error.copy()
    error[:] = [masked(text, spec.target.endpoints) for text in columns.error]
    return replace(columns, error=error)


def _within(columns: RequestColumns, window: tuple[int, int]) -> RequestColumns:
    """Requests that a shard measured before all others did belong to the warm-up."""
    is_early: Flags = (columns.phase == "measured") & (columns.scheduled_ns != NULL)
    is_early &= columns.scheduled_ns < window[0]
    phase = columns.phase.copy()
    phase[is_early] = "warmup"
    return replace(columns, phase=phase)
