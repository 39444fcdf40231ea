"""A campaign's candidates as simulated engines, with step times from the catalog's physics."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any, Final, cast, get_args

from catalog.case import Case, Unmodelled
from catalog.placement import Placement
from catalog.schema import Campaign
from deploy_templates.plan import LaunchPlan
from deploy_templates.request import Checkpoint, LaunchRequest, Variables
from deploy_templates.runtime_folder import load_runtime_folder
from flows.launching import Prepared
from flows.rehearsal import StepModel, like, overlaid
from flows.rehearsal.settings import Dialect
from reports.run.plan_file import CandidateFacts, MatrixFacts

RUNTIME: Final = "rehearsal"
REQUESTS: Final = 10  # of a cell that decides nothing: it shows that the flow works
DECISION_S: Final = 10.0
WARMUP: Final = 2
REPLICATIONS: Final = 3
_SETTINGS: Final = "settings.json"
_BLOCK_TOKENS: Final = 16
_MOST_BLOCKS: Final = 1_000_000
_KEPT: Final = ("max_sequences", "token_budget", "max_model_len", "prefix_caching", "seed")
_LIKE: Final = {"vllm_cpu": "vllm", "openvino": "vllm"}
_MANNERS: Final = ("stream", "connection", "lifecycle", "identity")


def rehearsed(matrix: MatrixFacts) -> MatrixFacts:
    """The matrix as it is rehearsed: every load and launch, each cell as short as it can be."""
    return matrix.model_copy(
        update={
            "requests": min(matrix.requests, REQUESTS),
            "duration_s": None,
            "decision_duration_s": DECISION_S,
            "warmup": "fixed",
            "warmup_requests": WARMUP,
            "replications": min(matrix.replications, REPLICATIONS),
        }
    )


def simulated(campaign: Campaign, facts: CandidateFacts, case: Case | Unmodelled) -> Prepared:
    """The candidate as a rehearsal engine that takes as long as its machine should."""
    stated = {
        name: entry["asked"]
        for name, entry in ((facts.launch or {}).get("controlled") or {}).items()
        if name in _KEPT and entry.get("asked") is not None
    }
    settings = _settings(facts, case)
    request = LaunchRequest(
        name=facts.name,
        runtime=RUNTIME,
        version="1",
        mode="process",
        model=campaign.contract.model,
        port=1,  # a free one is taken at the launch
        checkpoint=Checkpoint(),
        variables=Variables(**stated),
        programs={"python": sys.executable},
    )
    return Prepared(
        request=request,
        runtime=load_runtime_folder(RUNTIME),
        finished=lambda plan: _with_settings(plan, settings),
    )


def _with_settings(plan: LaunchPlan, settings: Mapping[str, Any]) -> LaunchPlan:
    """The plan with these settings under those that it renders, and an identity of its own."""
    rendered = json.loads(plan.files[_SETTINGS])
    text = json.dumps(overlaid(settings, rendered), indent=1, sort_keys=True) + "\n"
    identity = hashlib.sha256((plan.fingerprint + text).encode()).hexdigest()
    return replace(plan, files={**plan.files, _SETTINGS: text}, fingerprint=identity)


def step_model(case: Case | Unmodelled) -> StepModel | None:
    """Step times by achieved rates, else by peak ones; None where the catalog knows neither."""
    if isinstance(case, Unmodelled):
        return None
    place = case.placement
    bandwidth = place.achieved_bandwidth or place.device.memory_bandwidth
    compute = place.achieved_compute or place.peak
    if bandwidth is None or compute is None:
        return None
    terms, sums = place.terms, place.sums
    return StepModel.from_physics(
        weights_bytes=sums.weights_read,
        bandwidth_bytes_per_s=bandwidth.value,
        kv_bytes_per_token=sums.assumed_kv_read / terms.mean_context,
        prefill_flops_per_token=_prefill_flops(place) / max(1.0, terms.mean_prompt),
        flops_per_s=compute.value,
    )


def _prefill_flops(place: Placement) -> float:
    return place.arithmetic.work.assumed_mean_prefill / place.k


def _settings(facts: CandidateFacts, case: Case | Unmodelled) -> dict[str, Any]:
    """Settings of the engine beside its controlled variables."""
    settings: dict[str, Any] = {}
    dialect = _LIKE.get(facts.runtime or "", facts.runtime)
    if dialect in get_args(Dialect):
        manners = like(cast("Dialect", dialect))
        settings = {part: manners[part] for part in _MANNERS if part in manners}
    model = step_model(case)
    if model is not None:
        settings["steps"] = asdict(model)
    blocks = None if isinstance(case, Unmodelled) else _kv_blocks(case.placement)
    return settings if blocks is None else {**settings, "engine": {"kv_blocks": blocks}}


def _kv_blocks(place: Placement) -> int | None:
    """Blocks of cache that fit beside the weights; None where the memory is not known."""
    per_token = place.sums.assumed_kv_longest / max(1, place.terms.maximum_context)
    if place.usable_bytes is None or not per_token:
        return None
    free = place.usable_bytes - place.sums.assumed_weights - place.workspace.value
    return max(1, min(_MOST_BLOCKS, int(free / per_token / _BLOCK_TOKENS)))
