"""What must hold of the gates whatever the device: monotone, honest about doubt, sound."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catalog.entries import Catalog
from catalog.screen import Screen
from catalog.verdict import SEVERITY, GateResult, Status, Verdict

Judged = Callable[..., Verdict]
ORDER = (Status.PASS, Status.UNLIKELY, Status.UNKNOWN, Status.REJECT)
DEVICE = st.fixed_dictionaries(
    {
        "memory": st.integers(4, 300),
        "bandwidth": st.integers(50, 9000),
        "compute": st.integers(5, 3000),
        "cache": st.integers(1, 2000),
        "efficiency": st.floats(0.1, 1.0),
    }
)
CONTRACT = st.fixed_dictionaries(
    {
        "prompt_tokens": st.sampled_from([1, 100, 1024, 4000, "uniform:10:3000"]),
        "output_tokens": st.sampled_from([1, 128, 1000, "normal:200:50:600"]),
        "concurrency": st.integers(1, 200),
        "rate": st.sampled_from([None, "0.1/s", "2/s", "50/s"]),
        "slo": st.sampled_from(
            [{"ttft": "500 ms", "itl": "20 ms"}, {"ttft": "5 s", "itl": "100 ms"}, {}]
        ),
        "model": st.sampled_from(
            [
                "meta-llama/Meta-Llama-3-8B-Instruct",
                "meta-llama/Llama-3.2-1B-Instruct",
                "mistralai/Mixtral-8x7B-Instruct-v0.1",
                "google/gemma-2-9b-it",
            ]
        ),
        "cost_ceiling": st.sampled_from([None, "$0.50/Mtok"]),
    }
)
FACTS = ("memory", "memory_bandwidth", "compute", "on_chip_cache", "maximum_clock")
quick = settings(max_examples=60, deadline=None)


@pytest.fixture(scope="module")
def judged(vote: Callable[..., Screen], handmade: Callable[..., Catalog]) -> Judged:
    """The verdict on a device of drawn facts under a drawn contract."""

    def run(
        contract: Mapping[str, Any],
        device: Mapping[str, Any],
        *,
        without: str | None = None,
        unverified: tuple[str, ...] = (),
    ) -> Verdict:
        achieved = device["efficiency"]
        facts: dict[str, Any] = {
            "memory": f"{device['memory']} GiB",
            "memory_bandwidth": f"{device['bandwidth']} GB/s",
            "compute": {"bf16": f"{device['compute']} TFLOP/s"},
            "on_chip_cache": f"{device['cache']} MiB",
            "achieved": {
                "bandwidth": f"{device['bandwidth'] * achieved:.6f} GB/s",
                "compute": {"bf16": f"{device['compute'] * achieved:.6f} TFLOP/s"},
            },
        }
        if without is not None:
            facts[without] = {} if without == "compute" else None
        stated = {"device": "mine", "version": "0.33.0", "price": "$3/h"}
        catalog = handmade(unverified=unverified, **facts)
        return vote(contract, stated, catalog=catalog).candidates[0]

    return run


def worse_or_equal(one: GateResult, other: GateResult) -> bool:
    return ORDER.index(one.status) >= ORDER.index(other.status)


@pytest.mark.parametrize(
    "pair",
    [
        ("memory", "memory"),
        ("bandwidth", "bandwidth"),
        ("bandwidth", "cache"),
        ("compute", "compute"),
        ("utilisation", "bandwidth"),
        ("utilisation", "compute"),
        ("economics", "bandwidth"),
    ],
)
@given(contract=CONTRACT, device=DEVICE, factor=st.integers(2, 5))
@quick
def test_more_of_a_good_thing_never_makes_its_gate_stricter(
    judged: Judged,
    pair: tuple[str, str],
    contract: dict[str, Any],
    device: dict[str, Any],
    factor: int,
) -> None:
    gate, fact = pair
    less, more = (
        judged(contract, device | {fact: device[fact] * times}).gate(gate)
        for times in (1, factor)
    )

    if less.status is not Status.NOT_APPLICABLE:
        assert worse_or_equal(less, more)
    if less.bound is not None and more.bound is not None:
        assert more.bound.value <= less.bound.value


@given(contract=CONTRACT, device=DEVICE, factor=st.integers(2, 5))
@quick
def test_more_memory_never_hurts_any_gate(
    judged: Judged, contract: dict[str, Any], device: dict[str, Any], factor: int
) -> None:
    less = judged(contract, device)
    more = judged(contract, device | {"memory": device["memory"] * factor})

    for before, after in zip(less.gates, more.gates, strict=True):
        if before.status is not Status.NOT_APPLICABLE:
            assert worse_or_equal(before, after)


@pytest.mark.parametrize("gate", ["memory", "bandwidth", "compute", "utilisation"])
@given(contract=CONTRACT, device=DEVICE, more=st.integers(1, 50))
@quick
def test_more_streams_never_need_less(
    judged: Judged, gate: str, contract: dict[str, Any], device: dict[str, Any], more: int
) -> None:
    few = judged(contract, device).gate(gate)
    many = judged(contract | {"concurrency": contract["concurrency"] + more}, device).gate(gate)

    if gate == "utilisation":  # a fuller batch shares each step among more requests
        few, many = many, few
    if few.bound is not None and many.bound is not None:
        assert few.bound.value <= many.bound.value * (1 + 1e-9)


@given(contract=CONTRACT, device=DEVICE)
@quick
def test_the_bound_is_never_above_the_assumption(
    judged: Judged, contract: dict[str, Any], device: dict[str, Any]
) -> None:
    verdict = judged(contract, device)

    for gate in verdict.gates:
        if gate.bound is not None and gate.assumption is not None:
            assert gate.bound.value <= gate.assumption.value * (1 + 1e-9)


@given(
    contract=CONTRACT,
    device=DEVICE,
    doubtful=st.sets(st.sampled_from(FACTS), min_size=1),
)
@quick
def test_doubt_only_ever_turns_a_reject_into_unlikely(
    judged: Judged, contract: dict[str, Any], device: dict[str, Any], doubtful: set[str]
) -> None:
    sure = judged(contract, device)
    unsure = judged(contract, device, unverified=tuple(doubtful))

    for before, after in zip(sure.gates, unsure.gates, strict=True):
        if before.status is after.status:
            continue
        assert (before.status, after.status) == (Status.REJECT, Status.UNLIKELY)
        assert after.details["doubt"]


@given(contract=CONTRACT, device=DEVICE)
@quick
def test_facts_without_any_source_never_reject(
    judged: Judged, contract: dict[str, Any], device: dict[str, Any]
) -> None:
    verdict = judged(contract, device, unverified=FACTS)

    assert all(gate.status is not Status.REJECT for gate in verdict.gates)


@given(contract=CONTRACT, device=DEVICE, missing=st.sampled_from(FACTS[:3]))
@quick
def test_a_missing_fact_is_never_a_pass_of_the_gate_that_needs_it(
    judged: Judged, contract: dict[str, Any], device: dict[str, Any], missing: str
) -> None:
    needing = {"memory": "memory", "memory_bandwidth": "bandwidth", "compute": "compute"}

    gate = judged(contract, device, without=missing).gate(needing[missing])

    assert gate.status in {Status.UNKNOWN, Status.NOT_APPLICABLE, Status.REJECT}
    if gate.status is Status.REJECT:
        assert gate.bound is not None


@given(contract=CONTRACT, device=DEVICE)
@quick
def test_the_verdict_is_the_worst_of_its_gates_and_its_json_is_strict(
    judged: Judged, contract: dict[str, Any], device: dict[str, Any]
) -> None:
    verdict = judged(contract, device)
    worst = next(s for s in SEVERITY if any(g.status is s for g in verdict.gates))

    assert verdict.verdict is worst
    text = json.dumps(verdict.to_json(), allow_nan=False)
    assert all(math.isfinite(g["margin"]) for g in json.loads(text)["gates"] if g["margin"])
