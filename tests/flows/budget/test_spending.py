from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.budget import Billing, Spending
from flows.errors import BudgetStop, ExitCode

MINUTES = Billing(unit_s=60.0, least_s=60.0, source="test")
SECONDS = Billing(unit_s=1.0, least_s=60.0, source="test")


def test_every_started_unit_is_counted() -> None:
    spent = Spending(started_s=100.0)
    spent.rent("a", 60.0, MINUTES, 100.0)

    assert [spent.usd(at) for at in (100.0, 101.0, 160.0, 161.0)] == [0.0, 1.0, 1.0, 2.0]
    assert spent.machine_s(161.0) == 61.0


def test_the_minimum_is_paid_for_a_machine_given_back_at_once() -> None:
    spent = Spending(started_s=0.0)
    spent.rent("a", 3600.0, SECONDS, 0.0)
    spent.give_back("a", 5.0)
    spent.give_back("a", 500.0)

    assert spent.usd(1000.0) == 60.0
    assert spent.machine_s(1000.0) == 5.0


def test_machines_and_tokens_add_up_and_a_resumed_run_goes_on_from_before() -> None:
    spent = Spending(
        started_s=0.0, carried_usd=3.0, carried_machine_s=50.0, carried_wall_s=70.0
    )
    spent.rent("a", 3600.0, SECONDS, 0.0)
    spent.rent("b", 7200.0, SECONDS, 0.0)
    spent.pay(0.5)

    assert spent.usd(100.0) == 3.0 + 100.0 + 200.0 + 0.5
    assert spent.machine_s(100.0) == 250.0
    assert spent.wall_s(100.0) == 170.0


def test_a_step_that_would_exceed_the_money_is_refused_before_it() -> None:
    spent = Spending(started_s=0.0, limit_usd=2.0)
    spent.rent("a", 3600.0, SECONDS, 0.0)
    spent.give_back("a", 1.0)  # sixty dollars would be spent: the minimum
    assert spent.usd(1.0) == 60.0

    with pytest.raises(BudgetStop, match=r"a launch of B: .* \$60.00 of \$2.00") as stop:
        spent.refuse("a launch of B", 0.0, 1.0)
    assert stop.value.exit_code is ExitCode.BUDGET


def test_all_rented_machines_are_paid_while_a_step_lasts() -> None:
    spent = Spending(started_s=0.0, limit_usd=400.0)
    spent.rent("a", 3600.0, SECONDS, 0.0)
    spent.refuse("a step", 300.0, 100.0)
    spent.rent("b", 3600.0, SECONDS, 100.0)

    with pytest.raises(BudgetStop, match="continue with --resume"):
        spent.refuse("a step", 300.0, 100.0)


def test_what_a_step_costs_beside_its_time_counts() -> None:
    spent = Spending(started_s=0.0, limit_usd=10.0)
    spent.refuse("renting", 60.0, 0.0, usd=10.0)

    with pytest.raises(BudgetStop, match="renting"):
        spent.refuse("renting", 60.0, 0.0, usd=10.01)


def test_a_step_that_would_exceed_the_hours_is_refused_before_it() -> None:
    spent = Spending(started_s=0.0, limit_s=3600.0, carried_wall_s=1800.0)
    spent.refuse("a cell", 1800.0, 0.0)

    with pytest.raises(BudgetStop, match=r"after 1\.50 h; 1\.00 h are allowed"):
        spent.refuse("a cell", 3600.0, 0.0)


def test_without_limits_nothing_is_refused() -> None:
    spent = Spending(started_s=0.0)
    spent.rent("a", 1e9, MINUTES, 0.0)

    spent.refuse("anything", 1e9, 0.0, usd=1e12)


def test_a_machine_of_unknown_price_counts_its_time() -> None:
    spent = Spending(started_s=0.0, limit_s=100.0)
    spent.rent("a", None, MINUTES, 0.0)

    assert (spent.usd(50.0), spent.machine_s(50.0)) == (0.0, 50.0)


@given(times=st.lists(st.floats(0, 1e5), min_size=2, max_size=20), price=st.floats(0, 100))
def test_what_is_spent_never_falls(times: list[float], price: float) -> None:
    spent = Spending(started_s=0.0)
    seen = []
    for number, at_s in enumerate(sorted(times)):
        if number % 3 == 0:
            spent.rent("a", price, MINUTES, at_s)
        if number % 3 == 2:
            spent.give_back("a", at_s)
        seen.append(spent.usd(at_s))

    assert seen == sorted(seen)
