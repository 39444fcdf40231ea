"""Gate 2: a decode step takes time, at least."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.entries import Catalog
from catalog.screen import Screen
from catalog.verdict import GateResult, Status

Vote = Callable[..., Screen]
Handmade = Callable[..., Catalog]


@pytest.fixture
def judged(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> Callable[..., GateResult]:
    """The gate for a handmade device under the canonical contract with changes."""

    def run(
        contract: dict[str, Any] | None = None,
        candidate: dict[str, Any] | None = None,
        **facts: Any,
    ) -> GateResult:
        stated = canonical | (contract or {})
        screen = vote(stated, {"device": "mine"} | (candidate or {}), catalog=handmade(**facts))
        return screen.candidates[0].gate("bandwidth")

    return run


def test_a_slow_memory_is_rejected_even_at_its_peak(judged: Callable[..., GateResult]) -> None:
    gate = judged(memory_bandwidth="300 GB/s")

    assert gate.status is Status.REJECT
    assert gate.clause == "p95 ITL ≤ 25 ms"
    assert gate.margin is not None
    assert gate.margin < 0


def test_an_unknown_cache_makes_a_reject_unlikely(judged: Callable[..., GateResult]) -> None:
    gate = judged(memory_bandwidth="300 GB/s", on_chip_cache=None)

    assert gate.status is Status.UNLIKELY
    assert "the size of the on-chip caches" in gate.reason


def test_an_unverified_cache_that_could_not_save_the_candidate_is_no_doubt(
    judged: Callable[..., GateResult],
) -> None:
    small = judged(memory_bandwidth="300 GB/s", unverified=("on_chip_cache",))
    large = judged(
        memory_bandwidth="650 GB/s", on_chip_cache="600 MB", unverified=("on_chip_cache",)
    )

    assert small.status is Status.REJECT
    assert large.status is Status.UNLIKELY


def test_unverified_bandwidth_never_rejects(judged: Callable[..., GateResult]) -> None:
    gate = judged(memory_bandwidth="300 GB/s", unverified=("memory_bandwidth",))

    assert gate.status is Status.UNLIKELY
    assert gate.details["doubt"] == "peak bandwidth"


def test_a_model_that_lives_in_the_caches_has_no_bandwidth_bound(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(memory_bandwidth="300 GB/s", on_chip_cache="20 GB")

    assert gate.status is not Status.REJECT
    assert gate.bound is not None
    step_flops = 16 * (
        2 * (8_030_261_248 - 128256 * 4096 - 65 * 4096) + 4 * 32 * 32 * 128 * 1088
    )
    assert gate.bound.value == pytest.approx(step_flops / 300e12 * 1e3)


def test_unknown_bandwidth_is_unknown(judged: Callable[..., GateResult]) -> None:
    gate = judged(memory_bandwidth=None, achieved={})

    assert gate.status is Status.UNKNOWN
    assert gate.reason == "unknown: the memory bandwidth of Mine"


def test_a_missing_peak_cannot_pass_but_a_proven_reject_stands(
    judged: Callable[..., GateResult],
) -> None:
    fast = judged(compute={})
    slow = judged(compute={}, memory_bandwidth="300 GB/s")

    assert fast.status is Status.UNKNOWN
    assert slow.status is Status.REJECT


def test_the_assumed_rate_alone_makes_a_candidate_unlikely(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(candidate={"assumptions": {"bandwidth": "500 GB/s"}})

    assert gate.status is Status.UNLIKELY
    assert gate.reason == "36.68 ms at the assumed 500.0 GB/s exceed 25.00 ms"


def test_speculation_divides_the_bound_by_one_more_than_its_drafts(
    judged: Callable[..., GateResult],
) -> None:
    plain = judged()
    drafted = judged(candidate={"speculation": {"draft_tokens": 3}})

    assert plain.bound is not None
    assert drafted.bound is not None
    assert drafted.bound.value == pytest.approx(plain.bound.value / 4)
    assert "acceptance of draft tokens" in drafted.open_questions


def test_the_regime_turns_where_the_details_say(judged: Callable[..., GateResult]) -> None:
    short = {"prompt_tokens": 16, "output_tokens": 16}
    turn = judged(contract=short).details["compute_bound_from"]
    assert not isinstance(turn, str)

    below = judged(contract=short | {"concurrency": int(turn.value) - 1})
    at = judged(contract=short | {"concurrency": int(turn.value)})

    assert below.details["regime"] == "memory-bound"
    assert at.details["regime"] == "compute-bound"


def test_a_long_cache_never_becomes_compute_bound(judged: Callable[..., GateResult]) -> None:
    gate = judged(contract={"prompt_tokens": 8000})

    assert gate.details["compute_bound_from"] == "no batch"


def test_without_an_itl_limit_the_times_are_still_shown(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(contract={"slo": {"ttft": "1 s"}})

    assert gate.status is Status.NOT_APPLICABLE
    assert gate.bound is not None
    assert gate.limit is None


def test_a_rate_alone_is_bounded_at_one_stream(judged: Callable[..., GateResult]) -> None:
    gate = judged(contract={"concurrency": None, "rate": "2/s"})

    batch = next(e.quantity for e in gate.inputs if e.name == "batch")
    assert batch.value == 1


def test_data_parallel_engines_share_the_streams(judged: Callable[..., GateResult]) -> None:
    gate = judged(candidate={"device_count": 2, "data_parallel": 2})

    batch = next(e.quantity for e in gate.inputs if e.name == "batch")
    assert batch.value == 8


def test_a_shared_prefix_is_read_once_at_the_bound(judged: Callable[..., GateResult]) -> None:
    def moved(gate: GateResult) -> float:
        return next(e.quantity.value for e in gate.inputs if e.name == "kv_moved")

    plain, shared = judged(), judged(contract={"cached_prefix_tokens": 512})

    assert moved(plain) - moved(shared) == 15 * 512 * 131_072


def test_the_host_may_serve_what_is_offloaded_so_the_device_proves_nothing(
    judged: Callable[..., GateResult],
) -> None:
    alone = judged(memory_bandwidth="300 GB/s")
    shared = judged(memory_bandwidth="300 GB/s", candidate={"offload": "8 GiB"})

    assert alone.status is Status.REJECT
    assert shared.status is Status.UNLIKELY
    assert "the host serves no part" in shared.reason


def test_an_answer_of_one_token_has_no_time_between_tokens(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({"output_tokens": 1}, memory_bandwidth="300 GB/s")

    assert gate.status is Status.NOT_APPLICABLE
    assert gate.clause == "answers of one token"
    assert gate.reason == "an answer of one token has no time between tokens"


def test_a_step_that_assumed_arithmetic_makes_too_long_says_so(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged(
        {"concurrency": 300, "prompt_tokens": 16},
        achieved={"bandwidth": "1500 GB/s", "compute": {"bf16": "100 TFLOP/s"}},
    )

    assert gate.status is Status.UNLIKELY
    assert "at the assumed 100.0 TFLOP/s" in gate.reason


def test_the_working_holds_the_numbers_and_the_rule_of_the_matrix(
    judged: Callable[..., GateResult],
) -> None:
    text = judged().explanation

    assert "15.01 GB" in text
    assert "2.000 TB/s" in text
    assert "memory-bound" in text
    assert "Decision rule 2" in text
