"""Gate 3: the prompt's arithmetic, at least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.entries import Catalog
from catalog.quantity import Basis
from catalog.screen import Screen
from catalog.verdict import GateResult, Status

Vote = Callable[..., Screen]
Handmade = Callable[..., Catalog]


@pytest.fixture
def judged(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> Callable[..., GateResult]:
    """The gate for a handmade device under the canonical contract with changes."""

    def run(contract: dict[str, Any] | None = None, **facts: Any) -> GateResult:
        stated = canonical | (contract or {})
        screen = vote(stated, {"device": "mine"}, catalog=handmade(**facts))
        return screen.candidates[0].gate("compute")

    return run


def bound_ms(gate: GateResult) -> float:
    assert gate.bound is not None
    return gate.bound.value


def test_a_slow_device_is_rejected_even_at_its_peak(judged: Callable[..., GateResult]) -> None:
    gate = judged(compute={"bf16": "10 TFLOP/s"})

    assert gate.status is Status.REJECT
    assert gate.clause == "p95 TTFT ≤ 1000 ms"


def test_the_peak_is_taken_at_the_maximum_clock(judged: Callable[..., GateResult]) -> None:
    rated, boosted = judged(), judged(maximum_clock="1.5 GHz")

    assert bound_ms(rated) == pytest.approx(1.5 * bound_ms(boosted))


def test_an_unknown_clock_grants_ten_per_cent(judged: Callable[..., GateResult]) -> None:
    known, unknown = judged(), judged(rated_clock=None)

    assert bound_ms(known) == pytest.approx(1.1 * bound_ms(unknown))


@pytest.mark.parametrize("doubtful", ["compute", "maximum_clock", "rated_clock"])
def test_an_unverified_peak_or_clock_never_rejects(
    judged: Callable[..., GateResult], doubtful: str
) -> None:
    gate = judged(compute={"bf16": "10 TFLOP/s"}, unverified=(doubtful,))

    assert gate.status is Status.UNLIKELY
    assert "peak compute" in gate.reason


def test_a_short_prompt_still_reads_all_weights(judged: Callable[..., GateResult]) -> None:
    gate = judged(contract={"prompt_tokens": 1})

    assert bound_ms(gate) == pytest.approx((15.0098e9 - 40 * 2**20) / 2000e9 * 1e3, rel=1e-5)


def test_the_ttft_clause_takes_the_prompt_at_its_percentile(
    judged: Callable[..., GateResult],
) -> None:
    spread, longer = (
        judged(contract={"prompt_tokens": "uniform:1:2000"}),
        judged(contract={"prompt_tokens": 1900}),
    )

    assert bound_ms(spread) == pytest.approx(bound_ms(longer))


def test_a_cached_prefix_leaves_the_new_tokens_and_their_look_back(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(contract={"cached_prefix_tokens": 512})

    work = next(e.quantity for e in gate.inputs if e.name == "work")
    assert f"{work.value / 1e12:.3f}" == "7.354"


def test_unknown_compute_is_unknown_and_says_for_what(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(compute={})

    assert gate.status is Status.UNKNOWN
    assert gate.reason == "unknown: the peak FLOP/s of Mine for bfloat16"


def test_without_a_ttft_limit_it_does_not_apply(judged: Callable[..., GateResult]) -> None:
    assert judged(contract={"slo": {"itl": "25 ms"}}).status is Status.NOT_APPLICABLE


def test_eight_bit_weights_run_in_the_fastest_format_that_the_device_has(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    catalog = handmade(compute={"bf16": "300 TFLOP/s", "fp8": "600 TFLOP/s"})
    plain, eight = (
        vote(canonical, {"device": "mine", "precision": name}, catalog=catalog)
        .candidates[0]
        .gate("compute")
        for name in ("bfloat16", "fp8")
    )

    assert bound_ms(plain) == pytest.approx(2 * bound_ms(eight))


def test_a_format_that_is_slower_than_the_plain_one_never_lowers_the_peak(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    catalog = handmade(compute={"bf16": "300 TFLOP/s", "int8": "20 TOP/s"})
    plain, eight = (
        vote(canonical, {"device": "mine", "precision": name}, catalog=catalog)
        .candidates[0]
        .gate("compute")
        for name in ("bfloat16", "int8")
    )

    assert bound_ms(eight) == bound_ms(plain)


def test_a_peak_at_another_clock_than_the_datasheets_is_derived_and_says_so(
    judged: Callable[..., GateResult],
) -> None:
    quoted, boosted, granted = (
        next(each.quantity for each in gate.inputs if each.name == "peak_compute")
        for gate in (judged(), judged(maximum_clock="1.5 GHz"), judged(rated_clock=None))
    )

    assert (quoted.basis, quoted.source) == (Basis.SPECIFICATION, "a datasheet")
    assert (boosted.basis, boosted.source) == (
        Basis.BOUND,
        "a datasheet, at the maximum clock",
    )
    assert (granted.basis, granted.source) == (
        Basis.BOUND,
        "a datasheet, 10% granted for its clock",
    )


def test_a_first_token_that_assumed_bandwidth_makes_too_late_says_so(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({"prompt_tokens": 1, "slo": {"ttft": "9 ms"}})

    assert gate.status is Status.UNLIKELY
    assert "at the assumed 1.500 TB/s" in gate.reason
