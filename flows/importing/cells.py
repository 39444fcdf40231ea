"""An imported replication written as one of ours; what its client did not tell is null."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flows.importing.sources import Imported
from flows.matrix import cell_name
from flows.store import Store
from reports.cell.settings import CellSettings, ServerWatch, Slo
from reports.records import Anchor, Records, write_records
from reports.run.cell_file import AskedCell, CellFile
from reports.run.layout import CellName
from reports.run.plan_file import RunPlan


def keep(store: Store, plan: RunPlan, each: Imported) -> None:
    """Write the replication's files into the run, ``cell.json`` last."""
    facts = plan.candidate(each.candidate)
    cell = cell_name(plan, facts, each.point)
    partial = store.partial(cell, each.replication)
    who: dict[str, Any] = {
        "run": plan.run,
        "cell": cell.folder,
        "replication": each.replication,
        "launch": f"{each.candidate}-imported-{each.replication}",
    }
    columns = each.foreign.columns(**who)
    anchor = Anchor(monotonic_ns=0, unix_ns=0)  # of no known time of day
    write_records(
        partial / f"{each.replication}.parquet", Records(columns=columns, anchor=anchor)
    )
    asked = _asked(plan, each)
    for ending, document in (
        ("client.json", _client(plan, who, asked)),
        ("server.json", _server(who)),
    ):
        text = json.dumps(document, indent=1, sort_keys=True) + "\n"
        (partial / f"{each.replication}.{ending}").write_text(text, encoding="utf-8")
    store.keep(cell, each.replication, partial, _cell(plan, cell, each, asked))


def _asked(plan: RunPlan, each: Imported) -> AskedCell:
    slo, contract, foreign = plan.contract.slo, plan.contract, each.foreign
    return AskedCell.of(
        CellSettings(
            slo=Slo(
                ttft_ms=slo.ttft_ms,
                itl_ms=slo.itl_ms,
                itl_statistic=slo.itl_statistic,
                percentile=slo.percentile,
                goodput=slo.goodput,
                first="answer" if slo.ttft_counts == "answer_token" else "token",
            ),
            arrival=foreign.process,
            offered_rate=foreign.rate_per_s,
            burstiness=foreign.burstiness,
            concurrency=foreign.streams or foreign.max_in_flight,
            output=contract.output,
            output_tokens=int(contract.output_tokens)
            if contract.output_tokens.isdecimal()
            else None,
            planned_requests=len(foreign),
        )
    )


def _cell(plan: RunPlan, cell: CellName, each: Imported, asked: AskedCell) -> CellFile:
    when = each.foreign.date or plan.created_at
    return CellFile(
        run=plan.run,
        candidate=each.candidate,
        load_point=each.point.name,
        key=cell.key,
        replication=each.replication,
        launch=f"{each.candidate}-imported-{each.replication}",
        host=f"unknown, of {each.candidate}",  # no file says that two ran on one machine
        load_host="unknown",
        position=0,
        seed=0,
        basis="measurement",
        started_at=when,
        ended_at=when,
        asked=asked,
        files={},
    )


def _client(plan: RunPlan, who: Mapping[str, Any], asked: AskedCell) -> dict[str, Any]:
    """The account of a client that left none."""
    shard = {
        "client": {"plan_ran_out": False},
        "complete": True,
        "warmup_converged": None,
        "warmup_requests": None,
        "connections": None,
    }
    return {
        "schema_version": 1,
        **who,
        "seed": None,
        "model": plan.contract.model,
        "dialect": "unknown",
        "basis": "measurement",
        "endpoints": [],
        "complete": True,
        "imported": plan.imported,
        "plan": {
            "requests": asked.planned_requests,
            "offered_rate": asked.offered_rate,
            "shared_share": 0.0,
        },
        "prompts": {
            "sent_as": "unknown",
            "counted": "unknown",
            "overhead_tokens": 0.0,
            "tokens_per_symbol": None,
        },
        "server": {"runtime": None, **dict.fromkeys(ServerWatch.__dataclass_fields__)},
        "shards": [shard],
    }


def _server(who: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "schema_version": 1,
        **who,
        "server_queue_time_p95": None,
        "server_queue_time_mean": None,
        "servers": [],
    }
