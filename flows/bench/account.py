"""``<replication>.client.json``: what is known of a run beside its requests.

Format history:
1  first version.
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Final

from catalog.quantity import Basis
from flows.bench.merge import MergedRun, ShardFacts
from flows.bench.places import write_whole
from flows.bench.planning import CellPlan
from flows.bench.probe import Survey
from flows.bench.spec import CellSpec
from flows.bench.traffic import Account
from flows.load.address import shown

FORMAT: Final = 1


def write_account(path: Path, account: dict[str, Any]) -> None:
    """Write the account as JSON, atomically."""
    text = json.dumps(account, indent=1, sort_keys=True, allow_nan=False)
    write_whole(path, text + "\n")


def account_of(
    spec: CellSpec, survey: Survey, plan: CellPlan, run: MergedRun, server: Account
) -> dict[str, Any]:
    """The account of one replication as a JSON object; endpoints without their keys."""
    return {
        "schema_version": FORMAT,
        "run": spec.run,
        "cell": spec.cell,
        "replication": spec.replication,
        "launch": spec.launch,
        "seed": spec.seed,
        "model": spec.target.model,
        "dialect": spec.target.dialect,
        "basis": (Basis.SIMULATION if survey.is_simulation else Basis.MEASUREMENT).value,
        "endpoints": [shown(endpoint.url) for endpoint in spec.target.endpoints],
        "complete": all(shard.complete for shard in run.shards),
        "plan": {
            "requests": plan.requests,
            "offered_rate": plan.offered_rate,
            "shared_share": plan.shared_share,
        },
        "prompts": {
            "sent_as": "token ids" if survey.alphabet.opening == "[" else "text",
            "counted": survey.counts,
            "overhead_tokens": survey.overhead_tokens,
            "tokens_per_symbol": survey.tokens_per_symbol,
        },
        "server": dataclasses.asdict(server),
        "shards": [_shard(shard) for shard in run.shards],
    }


def _shard(shard: ShardFacts) -> dict[str, Any]:
    connections = [dataclasses.asdict(connection) for connection in shard.connections]
    return {
        "client": shard.client,
        "complete": shard.complete,
        "warmup_converged": shard.warmup_converged,
        "warmup_requests": shard.warmup_requests,
        "connections": {
            "opened": len(connections),
            **{
                name: _middle([c[name] for c in connections])
                for name in ("dns_us", "connect_us", "tls_us")
            },
        },
    }


def _middle(values: list[float | None]) -> float | None:
    """Median of the set-ups that had this step; None where none had."""
    known = sorted(value for value in values if value is not None)
    return known[len(known) // 2] if known else None
