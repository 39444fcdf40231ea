"""From a replication's files to its summary: what they say, against what was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from flows.bench.run import CellFiles
from flows.bench.spec import CellSpec
from reports.cell import (
    CellSettings,
    CellSummary,
    ClientHealth,
    Observed,
    ServerWatch,
    Slo,
    summarise,
)
from reports.records import read_records

_FACTS: Final = ("basis", "cell", "replication", "seed", "prompts", "server")


def summary_of(spec: CellSpec, files: CellFiles) -> CellSummary:
    """The summary of a measured replication, from its records and its client's account."""
    account = json.loads(files.client.read_text(encoding="utf-8"))
    columns = read_records(files.records).columns
    return summarise(columns, _settings(spec, account), _observed(account))


def document_of(summary: CellSummary, files: CellFiles) -> dict[str, Any]:
    """The ``--json`` object of one replication: its summary and the facts around it."""
    account = json.loads(files.client.read_text(encoding="utf-8"))
    server = json.loads(files.server.read_text(encoding="utf-8"))
    return {
        **summary.to_json(),
        **{key: server[key] for key in ("server_queue_time_p95", "server_queue_time_mean")},
        **{key: account[key] for key in _FACTS},
        "connections": [shard["connections"] for shard in account["shards"]],
        "plan_ran_out": any(shard["client"]["plan_ran_out"] for shard in account["shards"]),
    }


def _settings(spec: CellSpec, account: Mapping[str, Any]) -> CellSettings:
    output, plan, slo = spec.content.output, account["plan"], spec.slo
    is_fixed = output is not None and output.kind == "fixed"
    return CellSettings(
        slo=Slo(
            ttft_ms=slo.ttft_ms,
            itl_ms=slo.itl_ms,
            itl_statistic=slo.itl_statistic,
            goodput=slo.goodput,
        ),
        arrival=spec.load.process,
        offered_rate=plan["offered_rate"],
        burstiness=spec.load.burstiness,
        concurrency=spec.load.concurrency,
        output="forced" if spec.content.forced else "natural",
        output_tokens=output.maximum if output is not None and is_fixed else None,
        planned_requests=plan["requests"],
        cached_share=plan["shared_share"],
        is_sharing_drawn=spec.content.dataset is None,
        common_tokens=account["prompts"]["overhead_tokens"],
    )


def _observed(account: Mapping[str, Any]) -> Observed:
    shards = account["shards"]
    converged = [shard["warmup_converged"] for shard in shards]
    server = account["server"]
    names = ServerWatch.__dataclass_fields__
    return Observed(
        complete=account["complete"],
        warmup_converged=None if None in converged else all(converged),
        clients=tuple(ClientHealth.of(shard["client"]) for shard in shards),
        server=None
        if server["runtime"] is None
        else ServerWatch(**{name: server[name] for name in names}),
    )
