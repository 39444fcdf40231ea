"""Gate 4: what tensor parallelism saves against what its all-reduces cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.entries import Catalog
from catalog.quantity import Quantity
from catalog.screen import Screen
from catalog.verdict import GateResult, Status

Vote = Callable[..., Screen]
PCIE = {"device": "nvidia-a100-80gb-pcie", "link": "pcie4-x16"}
ASSUMED = {"assumptions": {"bandwidth": "1550 GB/s", "compute": "200 TFLOP/s"}}


@pytest.fixture
def judged(vote: Vote, canonical: dict[str, Any]) -> Callable[..., GateResult]:
    """The gate for k ranks of a device."""

    def run(k: int, device: dict[str, Any], **contract: Any) -> GateResult:
        candidate = device | {"device_count": k, "tensor_parallel": k}
        return vote(canonical | contract, candidate).candidates[0].gate("interconnect")

    return run


def ms(quantity: Quantity | str | None) -> float:
    assert isinstance(quantity, Quantity)
    assert quantity.unit == "ms"
    return quantity.value


def test_one_rank_exchanges_nothing(judged: Callable[..., GateResult]) -> None:
    assert judged(1, PCIE).status is Status.NOT_APPLICABLE


def test_all_reduces_over_pcie_by_the_lesson_and_at_the_bound(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(2, PCIE)

    assert f"{ms(gate.lesson['communication']):.3f}" == "1.091"
    assert f"{ms(gate.bound):.3f}" == "0.266"


def test_two_ranks_over_pcie_are_not_negative_scaling_for_decode(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(2, PCIE | ASSUMED)

    assert gate.status is Status.PASS
    assert f"{ms(gate.lesson['step_with_communication']):.1f}" == "7.0"
    assert f"{ms(gate.lesson['break_even_alpha']) * 1e3:.1f}" == "90.4"


def test_even_at_40_microseconds_two_ranks_decode_faster_than_one(
    judged: Callable[..., GateResult],
) -> None:
    lesson = judged(2, PCIE | ASSUMED).lesson
    step = ms(lesson["step_with_communication"]) + 64 * (40e-3 - 15e-3)

    assert f"{step:.1f}" == "8.6"
    assert step < 11.83


def test_eight_ranks_over_pcie_lose_in_prefill_by_the_measured_link(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(8, PCIE | ASSUMED)

    assert gate.status is Status.UNLIKELY
    assert gate.clause == "dominated by TP=4"
    assert f"{ms(gate.details['prefill_cost_assumed']):.0f}" == "657"
    assert "prefill by assumption: 657.1 ms of communication" in gate.reason


def test_eight_ranks_over_pcie_win_by_the_datasheet_link(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(8, PCIE | ASSUMED)

    assert ms(gate.details["prefill_cost"]) < ms(gate.details["prefill_saved"])
    assert ms(gate.bound) < ms(gate.limit)
    assert "α = 0" not in gate.reason


def test_a_degree_that_the_model_needs_has_nothing_to_lose_against(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(2, {"device": "nvidia-l4"}, concurrency=40)

    assert gate.status is Status.PASS
    assert gate.clause == "no smaller degree fits"


def test_a_degree_that_does_not_divide_the_heads_is_no_sibling(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    contract = canonical | {"model": "Qwen/Qwen2.5-7B-Instruct"}  # 28 query heads
    candidate = {
        "device": "nvidia-a100-80gb-sxm4",
        "device_count": 4,
        "tensor_parallel": 4,
        "version": "0.33.0",
    }

    gate = vote(contract, candidate).candidates[0].gate("interconnect")

    assert gate.details["sibling"] == "2"


def test_an_unknown_link_is_unknown(
    vote: Vote, handmade: Callable[..., Catalog], canonical: dict[str, Any]
) -> None:
    candidate = {"device": "mine", "device_count": 2, "tensor_parallel": 2}

    screen = vote(canonical, candidate, catalog=handmade(links=[]))

    assert screen.candidates[0].gate("interconnect").status is Status.UNKNOWN


def test_a_slow_link_dominates_at_the_bound_but_never_rejects(
    vote: Vote, handmade: Callable[..., Catalog], canonical: dict[str, Any]
) -> None:
    fast = handmade(memory_bandwidth="200 TB/s", compute={"bf16": "900 PFLOP/s"})
    candidate = {
        "device": "mine",
        "device_count": 2,
        "tensor_parallel": 2,
        "link": "pcie4-x16",
    }

    screen = vote(canonical, candidate, catalog=fast)

    gate = screen.candidates[0].gate("interconnect")
    assert gate.status is Status.UNLIKELY
    assert gate.clause == "dominated by TP=1"
    assert "decode at α = 0" in gate.reason


def test_without_measured_all_reduces_the_link_stays_open(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    candidate = {
        "device": "nvidia-a100-80gb-sxm4",
        "link": "upi2",
        "device_count": 2,
        "tensor_parallel": 2,
    }

    gate = vote(canonical, candidate).candidates[0].gate("interconnect")

    assert gate.assumption is None
    assert gate.open_questions[0].startswith("all-reduce times over Intel UPI")
