"""The server's account of a replication: from its watch and our requests to its record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from flows.bench.merge import MergedRun
from flows.bench.spec import CellSpec
from flows.bench.traffic import Watch
from flows.collect.client import ClientSide
from flows.collect.record import ServerRecord, record_of
from flows.collect.server import Watched
from flows.load.address import shown
from reports.columns import NULL, Ints, Reals


def server_record(
    spec: CellSpec, watch: Watch, run: MergedRun, *, is_simulation: bool
) -> ServerRecord:
    """What the servers told of this replication, and what of it they did not."""
    columns = run.records.columns
    was_sent = columns.sent_ns != NULL
    everything = _client_side(run)
    return record_of(
        [
            Watched(
                endpoint=shown(endpoint.url),
                source=None
                if (sampler := watch.samplers.get(index)) is None
                else sampler.source,
                span=None if sampler is None else sampler.span(),
                client=everything.of(was_sent & (columns.endpoint == index)),
                is_simulation=is_simulation,
            )
            for index, endpoint in enumerate(spec.target.endpoints)
        ],
        everything.of(was_sent),
    )


def identity(spec: CellSpec) -> dict[str, Any]:
    """What a server record is of."""
    return {
        "run": spec.run,
        "cell": spec.cell,
        "replication": spec.replication,
        "launch": spec.launch,
    }


def _client_side(run: MergedRun) -> ClientSide:
    columns = run.records.columns
    sent_s, first_token_s = _seconds(columns.sent_ns), _seconds(columns.first_token_ns)
    return ClientSide(
        window_ns=run.window,
        sent_ns=columns.sent_ns,
        is_measured=columns.phase == "measured",
        to_first_token_s=first_token_s - sent_s,
        queue_s=_answered(run.answered, "queue_time"),
        prompt_s=_answered(run.answered, "prompt_time"),
        prompt_tokens=_reals(columns.prompt_tokens),
        output_tokens=_reals(columns.output_tokens),
    )


def _answered(answers: Sequence[Mapping[str, float]], name: str) -> Reals:
    return np.array([answer.get(name, np.nan) for answer in answers], dtype=np.float64)


def _reals(values: Ints) -> Reals:
    return np.where(values == NULL, np.nan, values.astype(np.float64))


def _seconds(times_ns: Ints) -> Reals:
    return _reals(times_ns) / 1e9
