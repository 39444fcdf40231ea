"""Gate 0: the pinned runtime serves this model in this form on this device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.entries import Catalog
from catalog.screen import Screen
from catalog.verdict import GateResult, Status

Vote = Callable[..., Screen]


@pytest.fixture
def judged(
    vote: Vote, handmade: Callable[..., Catalog], canonical: dict[str, Any]
) -> Callable[..., GateResult]:
    """The gate for a candidate, on a handmade device where it names none."""

    def run(
        candidate: dict[str, Any], contract: dict[str, Any] | None = None, **facts: Any
    ) -> GateResult:
        stated = {"device": "mine"} | candidate
        screen = vote(canonical | (contract or {}), stated, catalog=handmade(**facts))
        return screen.candidates[0].gate("support")

    return run


def test_a_served_candidate_passes_and_names_its_rule(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({})

    assert gate.status is Status.PASS
    assert "Decision rule 4, vLLM" in gate.explanation


def test_heads_that_do_not_divide_are_rejected(judged: Callable[..., GateResult]) -> None:
    gate = judged({"device_count": 3, "tensor_parallel": 3})

    assert gate.status is Status.REJECT
    assert gate.reason == "32 query heads do not divide by 3"


def test_bf16_on_a_device_without_it_is_rejected(judged: Callable[..., GateResult]) -> None:
    gate = judged({"device": "nvidia-t4", "version": "0.33.0"})

    assert gate.status is Status.REJECT
    assert "BF16" in gate.reason


def test_a_release_that_is_not_known_is_unknown(judged: Callable[..., GateResult]) -> None:
    gate = judged({"version": "99.1"})

    assert gate.status is Status.UNKNOWN
    assert "vLLM 99.1 is not among the known releases" in gate.reason


def test_a_release_older_than_the_architecture_is_rejected(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({"version": "0.6.3"}, {"model": "Qwen/Qwen3-30B-A3B"})

    assert gate.status is Status.REJECT
    assert "since" in gate.reason


def test_a_device_class_that_the_runtime_does_not_run_on_is_rejected(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({"runtime": "vllm_cpu", "version": None})

    assert gate.status is Status.REJECT
    assert "does not run on cuda devices" in gate.reason


def test_a_precision_that_the_release_lacks_is_rejected(
    judged: Callable[..., GateResult],
) -> None:
    cache = judged({"kv_precision": "q4_0"})

    assert cache.status is Status.REJECT
    assert cache.clause == "KV cache precision"


def test_a_degree_beyond_the_runtime_is_rejected(judged: Callable[..., GateResult]) -> None:
    candidate = {"runtime": "llama_server", "version": None}

    gate = judged(candidate | {"device_count": 2, "tensor_parallel": 2})

    assert gate.status is Status.REJECT
    assert gate.clause == "tensor parallelism"


def test_a_request_longer_than_the_model_is_rejected(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({}, {"prompt_tokens": 8100})

    assert gate.status is Status.REJECT
    assert gate.reason == "the longest request has 8,228 tokens and 8,192 can be served"


def test_a_request_longer_than_the_launch_allows_is_rejected(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({"settings": {"max_model_len": 1024}})

    assert gate.status is Status.REJECT
    assert gate.clause == "context"


def test_a_driver_below_the_minimum_is_rejected_and_an_unstated_one_stays_open(
    judged: Callable[..., GateResult],
) -> None:
    old, unstated = judged({"driver": "470.57.02"}), judged({})

    assert old.status is Status.REJECT
    assert old.clause == "driver"
    assert unstated.status is Status.PASS
    assert unstated.open_questions[0].startswith("driver ")


def test_compute_capability_is_compared_by_its_numbers(
    judged: Callable[..., GateResult],
) -> None:
    low = judged({"precision": "float16"}, compute_capability="6.1")
    high = judged({}, compute_capability="10.0")
    missing = judged({}, compute_capability=None)

    assert low.status is Status.REJECT
    assert high.status is Status.PASS
    assert missing.status is Status.UNKNOWN
    assert "compute capability" in missing.reason
