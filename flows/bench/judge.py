"""From a replication's files to its summary: what they say, against what was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flows.bench.run import CellFiles
from flows.bench.spec import CellSpec
from reports.cell import CellSettings, CellSummary, Slo, observed_of, summarise, with_accounts
from reports.records import read_records


def summary_of(spec: CellSpec, files: CellFiles) -> CellSummary:
    """The summary of a measured replication, from its records and its client's account."""
    account = json.loads(files.client.read_text(encoding="utf-8"))
    columns = read_records(files.records).columns
    return summarise(columns, settings_of(spec, account), observed_of(account))


def document_of(summary: CellSummary, files: CellFiles) -> dict[str, Any]:
    """The ``--json`` object of one replication: its summary and the facts around it."""
    account = json.loads(files.client.read_text(encoding="utf-8"))
    server = json.loads(files.server.read_text(encoding="utf-8"))
    return with_accounts(summary.to_json(), account, server)


def settings_of(spec: CellSpec, account: Mapping[str, Any]) -> CellSettings:
    """What the replication was asked to be, as its summary takes it."""
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
