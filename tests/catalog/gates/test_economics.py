"""Gate 5: what a million output tokens cost at the bound."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from catalog.entries import Catalog
from catalog.screen import Screen
from catalog.verdict import Status, Verdict

Vote = Callable[..., Screen]


@pytest.fixture
def judged(
    vote: Vote, handmade: Callable[..., Catalog], canonical: dict[str, Any]
) -> Callable[..., Verdict]:
    """The verdict for a handmade device at a price under a ceiling."""

    def run(price: str | None, ceiling: str | None, **more: Any) -> Verdict:
        contract = canonical | ({"cost_ceiling": ceiling} if ceiling else {})
        candidate = {"device": "mine", "price": price} | more
        return vote(contract, candidate, catalog=handmade()).candidates[0]

    return run


def test_the_best_case_is_price_over_tokens_at_the_bound(
    judged: Callable[..., Verdict],
) -> None:
    verdict = judged("$3.60/h", None)
    step_s = (15_009_849_344 + 16 * (1088 + 1) * 131_072 - 40 * 2**20) / 2000e9

    tokens_per_hour = 3600 * 16 / step_s

    assert verdict.best_usd_per_1m_output == pytest.approx(3.6 / tokens_per_hour * 1e6)
    assert verdict.best_tokens_per_hour == pytest.approx(tokens_per_hour)


def test_a_host_full_of_replicas_costs_as_much_per_token_as_one_of_them(
    judged: Callable[..., Verdict],
) -> None:
    one, eight = judged("$1/h", None), judged("$8/h", None, device_count=8)

    assert eight.replicas_per_host == 8
    assert eight.best_usd_per_1m_output == pytest.approx(one.best_usd_per_1m_output)


def test_stated_replicas_are_all_that_work(judged: Callable[..., Verdict]) -> None:
    one, idle = judged("$1/h", None), judged("$8/h", None, device_count=8, replicas_per_host=1)

    assert one.best_usd_per_1m_output is not None
    assert idle.best_usd_per_1m_output == pytest.approx(8 * one.best_usd_per_1m_output)


def test_a_list_price_over_the_ceiling_is_unlikely_and_no_proof(
    judged: Callable[..., Verdict],
) -> None:
    gate = judged("$3.60/h", "$0.10/Mtok").gate("economics")

    assert gate.status is Status.UNLIKELY
    assert gate.margin is not None
    assert gate.margin < 0


def test_a_price_below_the_ceiling_passes(judged: Callable[..., Verdict]) -> None:
    gate = judged("$3.60/h", "$2/Mtok").gate("economics")

    assert gate.status is Status.PASS
    assert gate.clause == "at most $2.00/Mtok"


def test_an_unknown_price_under_a_ceiling_is_unknown(judged: Callable[..., Verdict]) -> None:
    verdict = judged(None, "$2/Mtok")

    assert verdict.gate("economics").status is Status.UNKNOWN
    assert verdict.best_usd_per_1m_output is None


def test_without_a_ceiling_the_gate_does_not_apply(judged: Callable[..., Verdict]) -> None:
    priced, free = judged("$3.60/h", None), judged(None, None)

    assert priced.gate("economics").status is Status.NOT_APPLICABLE
    assert priced.gate("economics").bound is not None
    assert free.price_usd_per_hour is None


def test_another_currency_is_never_compared(judged: Callable[..., Verdict]) -> None:
    verdict = judged("€3.60/h", "$2/Mtok")

    assert verdict.gate("economics").status is Status.UNKNOWN
    assert "EUR/h" in verdict.gate("economics").reason
    assert verdict.price_usd_per_hour is None


def test_a_rejected_candidate_has_no_best_case(
    vote: Vote, handmade: Callable[..., Catalog], canonical: dict[str, Any]
) -> None:
    candidate = {"device": "mine", "price": "$1/h"}

    verdict = vote(canonical, candidate, catalog=handmade(memory="1 GiB")).candidates[0]

    assert verdict.price_usd_per_hour == 1
    assert verdict.best_usd_per_1m_output is None
    assert verdict.best_tokens_per_hour is None
