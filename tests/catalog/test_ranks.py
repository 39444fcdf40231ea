"""Paper ranks: cheapest best case first, and what breaks ties."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from catalog.quantity import Basis, Quantity
from catalog.ranks import ranked
from catalog.verdict import GateResult, Rank, Status, Verdict

ON_DEMAND = ("on-demand",)


def verdict(name: str, cost: float | None = 1.0, **changes: Any) -> Verdict:
    plain = Verdict(
        name=name,
        verdict=Status.PASS,
        gates=(),
        device=name,
        device_count=1,
        tensor_parallel=1,
        runtime="vllm",
        precision="bfloat16",
        price_usd_per_hour=3.0,
        best_usd_per_1m_output=cost,
        best_tokens_per_hour=1e6,
    )
    return replace(plain, **changes)


def gate(margin: float) -> GateResult:
    limit = Quantity(value=1.0, unit="ms", basis=Basis.ASSUMPTION)
    return GateResult(gate="bandwidth", status=Status.PASS, limit=limit, margin=margin)


def primary(*verdicts: Verdict, commitments: tuple[str, ...] = ON_DEMAND) -> str | None:
    found = [v.name for v in ranked(verdicts, commitments) if Rank.PRIMARY in v.ranks]
    return found[0] if found else None


def test_the_cheapest_best_case_is_primary() -> None:
    assert primary(verdict("a", 1.10), verdict("b", 1.00)) == "b"


def test_within_two_per_cent_fewer_devices_win() -> None:
    big = verdict("big", 1.00, device_count=2)

    assert primary(big, verdict("small", 1.0199)) == "small"
    assert primary(big, verdict("small", 1.0201)) == "big"


def test_among_as_many_devices_the_lower_hourly_price_wins() -> None:
    assert (
        primary(
            verdict("dear", 1.00, price_usd_per_hour=4.0),
            verdict("cheap", 1.01, price_usd_per_hour=2.0),
        )
        == "cheap"
    )


@pytest.mark.parametrize("status", [Status.UNLIKELY, Status.UNKNOWN, Status.REJECT])
def test_only_a_pass_is_ranked(status: Status) -> None:
    other = verdict("other", 0.01, verdict=status, gates=(gate(0.01),))

    assert ranked([other, verdict("a")], ON_DEMAND)[0].ranks == ()
    assert primary(other, verdict("a")) == "a"


def test_a_candidate_off_the_contracts_precision_cannot_win() -> None:
    other = verdict("other", 0.01, parity="needs quality proof")

    assert primary(other, verdict("a")) == "a"
    assert primary(other) is None


def test_prices_under_a_commitment_that_nobody_asked_for_do_not_compete() -> None:
    spot = verdict("spot", 0.01, commitment="spot")

    assert primary(spot, verdict("a")) == "a"
    assert primary(spot, verdict("a"), commitments=("on-demand", "spot")) == "spot"
    assert primary(verdict("mine", 0.01, commitment="owned"), verdict("a")) == "mine"


def test_without_any_price_the_most_tokens_per_machine_hour_win() -> None:
    slow = verdict("slow", None, best_tokens_per_hour=1e6)
    fast = verdict("fast", None, best_tokens_per_hour=2e6, device_count=8)

    assert primary(slow, fast) == "fast"


def test_a_known_price_goes_before_an_unknown_one() -> None:
    assert primary(verdict("fast", None, best_tokens_per_hour=9e9), verdict("a", 5.0)) == "a"


def test_a_larger_degree_beside_a_passing_smaller_one_is_cost_inefficient() -> None:
    one = verdict("one", device="x", tensor_parallel=1)
    two = verdict("two", 1.5, device="x", tensor_parallel=2, device_count=2)
    alone = verdict("alone", 1.5, device="y", tensor_parallel=2, device_count=2)

    seen = {v.name: v.ranks for v in ranked([one, two, alone], ON_DEMAND)}

    assert seen == {
        "one": (Rank.PRIMARY,),
        "two": (Rank.COST_INEFFICIENT,),
        "alone": (),
    }


def test_a_failing_smaller_degree_makes_nothing_inefficient() -> None:
    one = verdict("one", device="x", verdict=Status.REJECT)
    two = verdict("two", device="x", tensor_parallel=2, device_count=2)

    assert ranked([one, two], ON_DEMAND)[1].ranks == (Rank.PRIMARY,)


@pytest.mark.parametrize(("margin", "thin"), [(0.0999, True), (0.1001, False)])
def test_a_margin_under_ten_per_cent_is_thin(margin: float, thin: bool) -> None:
    seen = ranked([verdict("a", gates=(gate(0.5), gate(margin)))], ON_DEMAND)[0]

    assert (Rank.THIN_MARGIN in seen.ranks) is thin


def test_the_order_of_candidates_is_kept() -> None:
    names = ["c", "a", "b"]

    assert [v.name for v in ranked([verdict(n) for n in names], ON_DEMAND)] == names


def test_runtimes_that_no_bound_tells_apart_are_named_beside_the_choice() -> None:
    ours = [verdict(n, device="x", runtime=n) for n in ("vllm", "sglang")]
    dearer = verdict("other", 1.5, device="x", runtime="llama_server")

    first, second, third = ranked([*ours, dearer], ON_DEMAND)

    assert first.notes == (
        "on paper equal under sglang: only a measurement tells runtimes apart",
    )
    assert second.notes == ()
    assert third.notes == ()


def test_among_ties_on_one_machine_the_choice_has_fewer_ranks() -> None:
    apart = verdict("two engines", 1.0, device="gpu", device_count=2, tensor_parallel=1)
    sharded = verdict("one engine", 0.99, device="gpu", device_count=2, tensor_parallel=2)

    found = {v.name: v.ranks for v in ranked([apart, sharded], ("on-demand",))}

    assert found == {
        "two engines": (Rank.PRIMARY,),
        "one engine": (Rank.COST_INEFFICIENT,),
    }
