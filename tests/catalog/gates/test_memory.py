"""Gate 1: what must fit, with and without reserves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.entries import Catalog
from catalog.screen import Screen
from catalog.verdict import Status, shown

Vote = Callable[..., Screen]
Handmade = Callable[..., Catalog]


def test_a_bound_that_exceeds_reported_memory_rejects(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    gate = vote(canonical, {"device": "mine"}, catalog=handmade(memory="17 GiB"))

    result = gate.candidates[0].gate("memory")

    assert result.status is Status.REJECT
    assert result.reason == "at least 17.08 GiB are needed and 17.00 GiB are there"


def test_workspace_alone_makes_a_candidate_unlikely(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    catalog = handmade(memory="20 GiB")

    result = vote(canonical, {"device": "mine"}, catalog=catalog).candidates[0].gate("memory")

    assert result.status is Status.UNLIKELY
    assert "18.00 GiB that are usable" in result.reason


def test_unverified_memory_never_rejects(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    catalog = handmade(memory="17 GiB", unverified=("memory",))

    result = vote(canonical, {"device": "mine"}, catalog=catalog).candidates[0].gate("memory")

    assert result.status is Status.UNLIKELY
    assert "not verified: reported memory" in result.reason


def test_unknown_memory_is_unknown_and_says_whose(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    catalog = handmade(memory=None)

    result = vote(canonical, {"device": "mine"}, catalog=catalog).candidates[0].gate("memory")

    assert result.status is Status.UNKNOWN
    assert result.reason == "unknown: the memory that the driver of Mine reports"


def test_two_ranks_hold_half_each(vote: Vote, canonical: dict[str, Any]) -> None:
    device = {"device": "nvidia-a100-80gb-sxm4"}
    one, two = vote(
        canonical, device, device | {"device_count": 2, "tensor_parallel": 2}
    ).candidates

    halves = two.gate("memory").bound
    whole = one.gate("memory").bound

    assert whole is not None
    assert halves is not None
    assert halves.value == whole.value / 2


def test_more_ranks_than_kv_heads_repeat_a_head_on_each(
    vote: Vote, canonical: dict[str, Any]
) -> None:
    device = {"device": "nvidia-a100-80gb-sxm4", "device_count": 16}
    eight, sixteen = (
        vote(canonical, device | {"tensor_parallel": k}).candidates[0].gate("memory")
        for k in (8, 16)
    )

    def cache(gate: Any) -> str:
        return shown(next(e.quantity for e in gate.inputs if e.name == "kv_cache"))

    assert cache(eight) == cache(sixteen)


def test_offloading_counts_the_hosts_memory(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    l4 = {"offer": "aws/g6.xlarge", "offload": "8 GiB"}
    contract = canonical | {"concurrency": 96}

    plain, offloaded = vote(contract, {"offer": "aws/g6.xlarge"}, l4).candidates

    assert plain.gate("memory").status is Status.REJECT
    assert offloaded.gate("memory").status is not Status.REJECT


def test_offloading_without_a_known_host_is_unknown(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    candidate = {"device": "mine", "offload": "8 GiB"}
    catalog = handmade(memory="17 GiB")

    result = vote(canonical, candidate, catalog=catalog).candidates[0].gate("memory")

    assert result.status is Status.UNKNOWN
    assert "host's memory" in result.reason


def test_a_rate_alone_makes_only_one_stream_certain(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    contract = {**canonical, "concurrency": None, "rate": "1/s"}

    gate = vote(contract, {"device": "mine"}, catalog=handmade()).candidates[0].gate("memory")

    longest_stream_gib = 1152 * 131_072 / 2**30
    assert gate.bound is not None
    assert gate.bound.value == pytest.approx(14.9575 + longest_stream_gib, abs=1e-3)


def test_streams_that_fit_fill_what_is_usable(
    vote: Vote, handmade: Handmade, canonical: dict[str, Any]
) -> None:
    gate = vote(canonical, {"device": "mine"}, catalog=handmade()).candidates[0].gate("memory")

    fit = gate.details["streams_that_fit"]

    assert not isinstance(fit, str)
    each_gib = 1152 * 131_072 / 2**30
    assert 14.9576 + 3.5 + fit.value * each_gib <= 72
    assert 14.9575 + 3.5 + (fit.value + 1) * each_gib > 72
