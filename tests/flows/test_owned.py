"""What is ours and what it has cost, out of what clouds list and ledgers say."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.quantity import Basis, Quantity
from flows.clouds.protocol import HELD, HELD_ELSEWHERE, LEFT_BEHIND, Machine, Owned
from flows.owned import CLOCKS_APART, UNCONFIRMED, Holding, holdings, released, unreleased

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
HOUR = dt.timedelta(hours=1)
PRICE = Quantity(value=4.6, unit="USD/h", basis=Basis.ASSUMPTION, source="AWS price list")


def machine(name: str = "us-east-1/i-1", **more) -> Machine:
    told = {
        "driver": "aws",
        "host_id": "aws-g6.xlarge",
        "is_local": False,
        "address": None,
        "price": PRICE,
        "campaign": "a",
        "run": "r1",
        "acquired_at": NOW - HOUR,
        "expires": NOW + HOUR,
        **more,
    }
    return Machine(id=name, **told)


def owned(state: str = LEFT_BEHIND, *, is_billed: bool = True, **more) -> Owned:
    return Owned(machine=machine(**more), state=state, holder="h", is_billed=is_billed)


def holding(*words, **more) -> Holding:
    return Holding(owned=owned(*words, **more), at=NOW)


def entry(event: str, **facts):
    return {"at": "t", "event": event, **facts}


@pytest.mark.parametrize(
    ("state", "expires", "is_abandoned"),
    [
        (HELD, NOW + HOUR, False),
        (HELD, NOW - HOUR, False),
        (LEFT_BEHIND, NOW + HOUR, True),
        (LEFT_BEHIND, NOW - HOUR, True),
        (HELD_ELSEWHERE, NOW + HOUR, False),
        (HELD_ELSEWHERE, NOW, False),  # clocks of two machines differ
        (HELD_ELSEWHERE, NOW - CLOCKS_APART, True),
        (UNCONFIRMED, NOW + HOUR, False),
        (UNCONFIRMED, NOW - HOUR, True),
    ],
)
def test_only_what_nobody_living_needs_is_abandoned(state, expires, is_abandoned):
    assert holding(state, expires=expires).is_abandoned == is_abandoned


@given(st.integers(0, 10**7))
def test_the_cost_is_price_times_time(seconds):
    got = NOW - dt.timedelta(seconds=seconds)

    value, currency = holding(acquired_at=got).cost

    assert value == pytest.approx(4.6 * seconds / 3600)
    assert currency == "USD"


def test_a_clock_that_goes_backwards_costs_nothing_and_gives_nothing_back():
    assert holding(acquired_at=NOW + HOUR).cost == (0.0, "USD")


def test_an_unknown_price_is_no_cost_and_not_zero():
    assert holding(price=None).cost is None
    assert holding(is_billed=False).cost is None


def test_a_ledgers_time_without_a_zone_is_utc():
    """Somebody has mended the file by hand."""
    told = machine("us-east-1/i-1").to_json()
    told["expires"] = NOW.replace(tzinfo=None).isoformat()
    (found,) = unreleased([entry("acquired", machine=told)]).values()

    assert found.expires == NOW


def test_a_ledger_names_what_was_got_and_not_given_back():
    there = machine("us-east-1/i-1")
    gone = machine("us-east-1/i-2")
    up = machine("us-east-1/i-1", address="203.0.113.5")
    entries = [
        entry("acquired", machine=there.to_json()),
        entry("acquired", machine=gone.to_json()),
        entry("ready", machine=up.to_json()),
        entry("releasing", id=there.id),
        entry("not-released", id=there.id),
        entry("released", id=gone.id),
        entry("acquired", machine="nonsense"),
        entry("acquired"),
        entry("released"),
        entry("spent", usd=3),
        {},
    ]

    assert unreleased(entries) == {there.id: up}
    assert gone.id in released(entries)


def test_a_price_that_only_the_ledger_knows_is_used():
    listed = owned(price=None)

    (found,) = holdings([listed], {"us-east-1/i-1": machine()}, (), NOW)

    assert found.machine.price == PRICE
    assert found.cost == (pytest.approx(4.6), "USD")


def test_what_no_cloud_lists_any_more_is_gone_and_what_could_not_be_asked_is_not():
    known = {each.id: each for each in (machine("us-east-1/i-1"), machine("x", driver="ssh"))}

    assert holdings([], known, (), NOW) == ()
    (found,) = holdings([], known, ("aws",), NOW)
    assert (found.owned.state, found.owned.is_billed) == (UNCONFIRMED, True)


def test_what_a_cloud_that_was_half_seen_lists_is_shown_once():
    found = holdings([owned()], {"us-east-1/i-1": machine()}, ["aws"], NOW)

    assert [each.owned.state for each in found] == [LEFT_BEHIND]


def test_what_costs_money_comes_first():
    free = owned(is_billed=False, campaign="a")
    paid = owned(campaign="z", name="us-east-1/i-9")

    assert [each.owned.is_billed for each in holdings([free, paid], {}, (), NOW)] == [
        True,
        False,
    ]
