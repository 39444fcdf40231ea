"""Which cell is which: its key, its name, the seed of its prompts and arrivals."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from flows.matrix.amounts import duration_s
from reports.run.layout import KEY_DIGITS, CellName
from reports.run.plan_file import CandidateFacts, LoadPoint, RunPlan

_SEED_BITS: Final = 31  # servers keep a request's seed in 32 bits with a sign
_MASK: Final = "***"
_SECRET = re.compile(  # whole words: TOKENIZERS_PARALLELISM is none, and moves numbers
    r"(^|_)(API_?KEY|KEY|TOKEN|SECRET|PASSWORD|CREDENTIALS?)(_|$)", re.IGNORECASE
)


def cell_seed(plan: RunPlan, point: LoadPoint, replication: int) -> int:
    """The seed of a cell's prompts and arrivals.

    It is equal for all candidates, and differs between replications and between cells.
    """
    drawn = digest([plan.matrix.seed, point.name, replication])
    return int(drawn[:16], 16) % (1 << _SEED_BITS)


def cell_name(plan: RunPlan, candidate: CandidateFacts, point: LoadPoint) -> CellName:
    """The cell's name; its key is the start of the SHA-256 of its identity."""
    key = digest(cell_identity(plan, candidate, point))[:KEY_DIGITS]
    return CellName(candidate=candidate.name, load_point=point.name, key=key)


def cell_identity(plan: RunPlan, candidate: CandidateFacts, point: LoadPoint) -> dict[str, Any]:
    """Everything that makes a cell the cell that it is, as strict JSON values."""
    contract, matrix = plan.contract, plan.matrix
    launch: Mapping[str, Any] = candidate.launch or {}
    controlled = launch.get("controlled", {})
    return {
        "method": plan.method_version,
        "rehearsal": plan.rehearsal,
        "model": contract.model,
        "revision": controlled.get("revision", {}).get("asked"),
        "checkpoint": candidate.checkpoint,
        "precision": [candidate.precision, candidate.kv_precision],
        "runtime": [candidate.runtime, candidate.version],
        "argv": launch.get("argv"),
        "env": masked_env(launch.get("env", {})),
        "endpoints": candidate.endpoints,
        "host": candidate.host,
        "workload": contract.model_dump(
            mode="json",
            include={"prompt_tokens", "output_tokens", "output", "cached_prefix_tokens"},
        ),
        "load": point.model_dump(mode="json", exclude={"name"}),
        "amount": [matrix.requests, duration_s(plan, point)],
        "warmup": [matrix.warmup, matrix.warmup_requests],
        "sampling": [matrix.temperature, matrix.timeout_s],
        "seed": matrix.seed,
    }


def masked_env(env: Mapping[str, str]) -> dict[str, str]:
    """The environment with a mask where a name promises a secret."""
    return {name: _MASK if _SECRET.search(name) else text for name, text in env.items()}


def digest(value: object) -> str:
    """SHA-256 (hex) over canonical JSON."""
    text = json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()
