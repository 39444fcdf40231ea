"""A rehearsal: step times from the catalog's physics, cells as short as can decide."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any, Final, cast, get_args

from catalog.case import Case, Unmodelled
from catalog.entries import Catalog
from catalog.facts import Facts
from catalog.placement import Placement
from catalog.resolve import resolve
from catalog.schema import Campaign, Runtime
from deploy_templates.plan import LaunchPlan
from flows.budget import estimate
from flows.matrix import visits
from flows.rehearsal import StepModel, like, overlaid
from flows.rehearsal.settings import Dialect
from reports.run.plan_file import LoadPoint, MatrixFacts, RunPlan

REQUESTS: Final = 20  # three launches of them are the least from which anything is decided
WARMUP: Final = 2  # at least
REPLICATIONS: Final = 3
_SETTINGS: Final = "settings.json"
_STEP_TOKENS: Final = 2048
_BLOCK_TOKENS: Final = 16
_MOST_BLOCKS: Final = 1_000_000
_LIKE: Final = {"vllm_cpu": "vllm", "openvino": "vllm"}
_MANNERS: Final = ("stream", "connection", "lifecycle", "identity")


def shortened(plan: RunPlan) -> RunPlan:
    """The plan as it is rehearsed: few loads, three launches, cells as short as can decide."""
    matrix = shortened_matrix(plan.matrix)
    short = plan.model_copy(update={"matrix": matrix, "order": visits(plan.candidates, matrix)})
    return short.model_copy(update={"estimate": estimate(short)})


def shortened_matrix(matrix: MatrixFacts) -> MatrixFacts:
    """The matrix of a rehearsal of what this one asks for."""
    return matrix.model_copy(
        update={
            "load_points": _few(matrix),
            "requests": min(matrix.requests, REQUESTS),
            "duration_s": None,
            "decision_duration_s": None,
            "warmup": "fixed",
            "warmup_requests": max(WARMUP, _streams(matrix)),
            "replications": min(matrix.replications, REPLICATIONS),
        }
    )


def _few(matrix: MatrixFacts) -> tuple[LoadPoint, ...]:
    """Loads that a decision rests on, and the highest of each kind: each takes a minute."""
    if matrix.decision_point is None:
        return matrix.load_points
    highest = {(each.process, each.max_in_flight): each for each in _rising(matrix)}
    return tuple(
        each
        for each in matrix.load_points
        if each.name == matrix.decision_point or each in highest.values()
    )


def _rising(matrix: MatrixFacts) -> list[LoadPoint]:
    return sorted(
        matrix.load_points, key=lambda each: each.rate_per_s or float(each.concurrency or 0)
    )


def _streams(matrix: MatrixFacts) -> int:
    """Streams of the deciding load: their first wave prefills at once, its tail else."""
    if matrix.decision_point is None:
        return 0
    points = {each.name: each for each in matrix.load_points}
    return points[matrix.decision_point].concurrency or 0


def engines(
    campaign: Campaign, catalog: Catalog, runtimes: Mapping[str, Runtime], today: dt.date
) -> dict[str, Callable[[LaunchPlan], LaunchPlan]]:
    """By candidate of the file, what gives its simulated engine the times of its machine.

    They are the catalog's: what was measured of this machine is the paper vote's alone, else
    the same rehearsal would have other times before and after a calibration.
    """
    facts = Facts.of(campaign, catalog.without_measured(), runtimes, today)
    return {
        each.name: simulated(each.runtime, resolve(facts, each)) for each in campaign.candidates
    }


def simulated(
    runtime: str | None, case: Case | Unmodelled
) -> Callable[[LaunchPlan], LaunchPlan]:
    """What makes a rehearsal engine's plan take as long as ``case`` should.

    ``runtime`` is the candidate's own, whose manners the engine takes on. The plan of a real
    engine stays as it is.
    """
    settings = _settings(runtime, case)

    def finished(plan: LaunchPlan) -> LaunchPlan:
        if not plan.simulation:
            return plan
        stated = overlaid(settings, json.loads(plan.files[_SETTINGS]))
        laid = overlaid({"engine": {"token_budget": _budget(stated["engine"])}}, stated)
        text = json.dumps(laid, indent=1, sort_keys=True) + "\n"
        identity = hashlib.sha256((plan.fingerprint + text).encode()).hexdigest()
        return replace(plan, files={**plan.files, _SETTINGS: text}, fingerprint=identity)

    return finished


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
    prefill_flops = place.arithmetic.work.assumed_mean_prefill / place.k
    return StepModel.from_physics(
        weights_bytes=sums.weights_read,
        bandwidth_bytes_per_s=bandwidth.value,
        kv_bytes_per_token=sums.assumed_kv_read / terms.mean_context,
        prefill_flops_per_token=prefill_flops / max(1.0, terms.mean_prompt),
        flops_per_s=compute.value,
    )


def _settings(runtime: str | None, case: Case | Unmodelled) -> Mapping[str, Any]:
    """Settings of the engine beside its controlled variables."""
    settings: dict[str, Any] = {"engine": {}}
    dialect = _LIKE.get(runtime or "", runtime)
    if dialect in get_args(Dialect):
        manners = like(cast("Dialect", dialect))
        settings = {part: manners[part] for part in _MANNERS if part in manners}
    model = step_model(case)
    if model is not None:
        settings["steps"] = asdict(model)
    blocks = None if isinstance(case, Unmodelled) else _kv_blocks(case.placement)
    return settings if blocks is None else {**settings, "engine": {"kv_blocks": blocks}}


def _budget(engine: Mapping[str, Any]) -> int:
    """Tokens of a step where nobody states them: vLLM's, and room for a full batch.

    A larger one prefills whole waves of equal requests together, wave after wave.
    """
    batch = engine.get("max_num_seqs", 0) * engine.get("tokens_per_step", 1)
    return max(_STEP_TOKENS, int(batch))


def _kv_blocks(place: Placement) -> int | None:
    """Blocks of cache that fit beside the weights; None where the memory is not known."""
    per_token = place.sums.assumed_kv_longest / max(1, place.terms.maximum_context)
    if place.usable_bytes is None or not per_token:
        return None
    free = place.usable_bytes - place.sums.assumed_weights - place.workspace.value
    return max(1, min(_MOST_BLOCKS, int(free / per_token / _BLOCK_TOKENS)))
