"""What is known of a candidate's engine before it runs: schedule, work, bound and prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from catalog.case import Case, Unmodelled
from catalog.placement import Placement
from catalog.predict import (
    NO_FLOOR,
    TOKENS,
    Engine,
    Floor,
    Limits,
    Policy,
    Prior,
    Question,
    Work,
    floor_of,
    prior_of,
    work_of,
)
from catalog.schema import Contract
from reports.run.plan_file import CandidateFacts

_SIMULATED: Final = "rehearsal"
_PREFILL_FIRST: Final = "prefill_first"
_DEFAULTS: Final[Mapping[str, Engine]] = {
    "llama_server": Engine(max_sequences=4, token_budget=2048),
    "vllm": Engine(token_budget=2048),
    "vllm_cpu": Engine(token_budget=2048),
    "openvino": Engine(token_budget=2048),
    "rehearsal": Engine(token_budget=2048),
    "sglang": Engine(policy=_PREFILL_FIRST),
    "tensorrt_llm": Engine(token_budget=8192),
}  # where the campaign leaves the schedule to the engine
_ANY: Final = Engine()


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A candidate for the model: ``prior`` is None where nothing is known, ``why`` says it.

    ``cap`` is the most requests in flight of a rate that is searched (None: no cap).
    """

    question: Question
    work: Work
    floor: Floor
    prior: Prior | None
    why: str | None
    cap: int | None = None


def known_of(
    contract: Contract,
    facts: CandidateFacts,
    case: Case | Unmodelled,
    *,
    rehearsal: bool,
    cap: int | None = None,
) -> Known:
    """What is known of a candidate by its plan and by its case on paper.

    ``rehearsal``: every engine is simulated with the step times of its machine; one that is
    simulated by itself has settings instead, which no paper knows.
    """
    place = case.placement if isinstance(case, Case) else None
    is_simulated = facts.runtime == _SIMULATED and not rehearsal
    if place is None or is_simulated:
        prior: Prior | str = (
            "a simulated engine's step times are settings"
            if is_simulated
            else case.reason
            if isinstance(case, Unmodelled)
            else ""
        )
    else:
        prior = prior_of(place)
    is_physical = place is not None and not is_simulated
    return Known(
        question=Question(
            engine=engine_of(facts, place),
            prompt=contract.prompt_tokens,
            output=contract.output_tokens,
            limits=_limits(contract),
        ),
        work=work_of(place) if place is not None and is_physical else TOKENS,
        floor=floor_of(place) if place is not None and is_physical else NO_FLOOR,
        prior=None if isinstance(prior, str) else prior,
        why=prior if isinstance(prior, str) else None,
        cap=cap,
    )


def engine_of(facts: CandidateFacts, place: Placement | None) -> Engine:
    """How the candidate's engine schedules: as launched, else as the runtime does by itself."""
    usual = _DEFAULTS.get(facts.runtime or "", _ANY)
    controlled: Mapping[str, Any] = (facts.launch or {}).get("controlled", {})
    chunked = _asked(controlled, "chunked_prefill")
    policy: Policy = usual.policy
    if chunked is not None:
        policy = "mixed" if chunked else _PREFILL_FIRST
    return Engine(
        policy=policy,
        max_sequences=int(_asked(controlled, "max_sequences") or usual.max_sequences),
        token_budget=int(_asked(controlled, "token_budget") or usual.token_budget),
        kv_tokens=None if place is None else _kv_tokens(place),
        engines=facts.replicas_per_host if place is None else place.engines,
    )


def _asked(controlled: Mapping[str, Any], name: str) -> Any:
    return controlled.get(name, {}).get("asked")


def _kv_tokens(place: Placement) -> int | None:
    """Tokens of cache that fit beside the weights; None where the memory is not known."""
    per_token = place.sums.assumed_kv_longest / max(1, place.terms.maximum_context)
    if place.usable_bytes is None or not per_token:
        return None
    free = place.usable_bytes - place.sums.assumed_weights - place.workspace.value
    return max(place.terms.maximum_context, int(free / per_token))


def _limits(contract: Contract) -> Limits:
    slo = contract.slo
    return Limits(
        ttft_s=None if slo.ttft is None else slo.ttft.value,
        itl_s=None if slo.itl is None else slo.itl.value,
        statistic=slo.itl_statistic,
        percentile=slo.percentile,
        goodput=None if slo.goodput is None else slo.goodput.value,
    )
