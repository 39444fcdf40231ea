"""Every request is counted once, and its times are in order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import numpy as np

from reports.cell.problems import Concern, Problem
from reports.cell.settings import CellSettings, Observed
from reports.columns import NULL, Flags, RequestColumns

FAILED: Final = ("failed_http", "failed_in_band", "failed_reset", "failed_connect")
OUTCOMES: Final = ("ok", *FAILED, "truncated", "timed_out", "cancelled", "not_sent")

# Answers carry the kernel's stamp of their arrival. A client that lost the CPU right behind
# its write takes `sent_ns` late, even later than that: the two are not compared.
_BEHIND_FIRST_BYTE: Final = ("first_token_ns", "last_token_ns", "done_ns")
_ANSWERED: Final = ("ok", "truncated")  # a refusal may come before the request is written
_BLUR_NS: Final = 1_000_000  # timers end a little early, clocks of two kinds are compared


def request_counts(columns: RequestColumns) -> dict[str, int]:
    """Return requests by outcome and by phase.

    planned = sent + not_sent; sent = ok + failed + truncated + timed_out + cancelled.
    """
    by_outcome = {name: int((columns.outcome == name).sum()) for name in OUTCOMES}
    by_phase = {
        name: int((columns.phase == name).sum()) for name in ("warmup", "measured", "drain")
    }
    failed = {name: by_outcome.pop(name) for name in FAILED}
    return {
        "planned": len(columns),
        "sent": len(columns) - by_outcome["not_sent"],
        **by_outcome,
        "failed": sum(failed.values()),
        **failed,
        **by_phase,
    }


def sum_problems(
    columns: RequestColumns, settings: CellSettings, observed: Observed
) -> Iterator[Problem]:
    """Whether requests were lost, counted twice, or carry times that cannot be."""
    for seen, wrong in _contradictions(columns).items():
        if wrong.any():
            yield Problem(concern=Concern.SUMS, seen=f"{int(wrong.sum())} requests {seen}")
    counted = int((columns.phase != "drain").sum())
    planned = settings.planned_requests
    if planned is not None and counted != planned and (observed.complete or counted > planned):
        yield Problem(
            concern=Concern.SUMS,
            seen=f"{counted} requests are on record, {planned} were planned",
        )


def _contradictions(columns: RequestColumns) -> Mapping[str, Flags]:
    was_sent = columns.sent_ns != NULL
    identity = np.stack([columns.replication, columns.shard, columns.sequence])
    repeats = np.ones(len(columns), dtype=np.bool_)
    repeats[np.unique(identity, axis=1, return_index=True)[1]] = False
    return {
        "have an unknown outcome": ~np.isin(columns.outcome, OUTCOMES),
        "are on record twice": repeats,
        "have an answer but were never sent": np.isin(columns.outcome, _ANSWERED) & ~was_sent,
        "were sent and also not sent": (columns.outcome == "not_sent") & was_sent,
        "were sent and have no end": was_sent & (columns.done_ns == NULL),
        "succeeded without a first token": (columns.outcome == "ok")
        & (columns.first_token_ns == NULL),
        "were sent before they were due": was_sent
        & (columns.scheduled_ns != NULL)
        & (columns.sent_ns + _BLUR_NS < columns.scheduled_ns),
        "have times out of order": (columns.outcome == "ok") & _disordered(columns),
    }


def _disordered(columns: RequestColumns) -> Flags:
    disordered = np.zeros(len(columns), dtype=np.bool_)
    latest = columns.first_byte_ns
    for name in _BEHIND_FIRST_BYTE:
        times_ns = getattr(columns, name)
        disordered |= (times_ns != NULL) & (times_ns + _BLUR_NS < latest)
        latest = np.maximum(latest, times_ns)
    return disordered
