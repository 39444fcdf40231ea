"""Gate 3b: requests must not cost more machine time than passes."""

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
    """The gate for a handmade device under the canonical contract with changes."""

    def run(
        contract: dict[str, Any], candidate: dict[str, Any] | None = None, **facts: Any
    ) -> GateResult:
        stated = {"device": "mine"} | (candidate or {})
        screen = vote(canonical | contract, stated, catalog=handmade(**facts))
        return screen.candidates[0].gate("utilisation")

    return run


def share(gate: GateResult) -> float:
    assert gate.bound is not None
    return gate.bound.value


def test_a_rate_beyond_the_peak_rates_is_rejected(judged: Callable[..., GateResult]) -> None:
    gate = judged({"rate": "100/s"})

    assert gate.status is Status.REJECT
    assert share(gate) > 1


def test_a_rate_beyond_the_assumed_rates_is_unlikely(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({"rate": "8/s"})

    assert gate.status is Status.UNLIKELY
    assert share(gate) < 1


def test_the_bound_overlaps_memory_and_arithmetic_perfectly(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({"rate": "1/s"})
    times = {entry.name: entry.quantity.value for entry in gate.inputs}

    assert share(gate) == pytest.approx(max(times["compute_time"], times["memory_time"]) / 1e3)


def test_replicas_share_the_rate(judged: Callable[..., GateResult]) -> None:
    one, four = judged({"rate": "1/s"}), judged({"rate": "1/s"}, {"device_count": 4})

    assert share(one) == pytest.approx(4 * share(four))


def test_a_rate_alone_is_served_by_all_streams_that_fit(
    judged: Callable[..., GateResult],
) -> None:
    gate = judged({"concurrency": None, "rate": "1/s"})

    batch = next(e.quantity.value for e in gate.inputs if e.name == "batch")
    assert batch == (80 * 2**30 - 16_060_522_496) // (1088 * 131_072)


@pytest.mark.parametrize("doubtful", ["compute", "memory_bandwidth", "on_chip_cache"])
def test_unverified_rates_never_reject(
    judged: Callable[..., GateResult], doubtful: str
) -> None:
    slow = {"compute": {"bf16": "9 TFLOP/s"}} if doubtful == "compute" else {}

    gate = judged({"rate": "15/s"}, unverified=(doubtful,), **slow)

    assert share(gate) > 1
    assert gate.status is Status.UNLIKELY


def test_unknown_rates_are_unknown(judged: Callable[..., GateResult]) -> None:
    gate = judged({"rate": "1/s"}, compute={})

    assert gate.status is Status.UNKNOWN
    assert "peak FLOP/s" in gate.reason
