"""What an hour costs: list prices age, owned hardware is capital and energy."""

from __future__ import annotations

import datetime as dt

import pytest

from catalog.quantity import Basis, Quantity
from catalog.sale import hourly_cost, is_hourly, is_stale, sale_of
from catalog.schema import Offer, Ownership

TODAY = dt.date(2026, 9, 1)
OWNED = {
    "capital": "$100000",
    "years": 4,
    "power": "2 kW",
    "energy_price": "$0.10/kWh",
    "pue": 1.2,
    "utilisation": "80%",
}


def offer(**changes: object) -> Offer:
    row = {
        "name": "x",
        "device": "nvidia-l4",
        "device_count": 1,
        "region": "here",
        "sold_as": "share",
        "source": "a list",
    }
    return Offer.model_validate(row | changes)


@pytest.mark.parametrize(("days", "stale"), [(0, False), (90, False), (91, True)])
def test_a_price_is_stale_after_ninety_days(days: int, stale: bool) -> None:
    assert is_stale(TODAY - dt.timedelta(days=days), TODAY) is stale


def test_a_price_whose_day_is_not_known_is_stale() -> None:
    assert is_stale(None, TODAY)


def test_an_hour_of_owned_hardware_is_capital_over_hours_used_and_energy() -> None:
    cost = hourly_cost(Ownership.model_validate(OWNED))

    assert cost is not None
    assert cost.unit == "USD/h"
    assert cost.value == pytest.approx(100_000 / (4 * 8766 * 0.8) + 2 * 1.2 * 0.10)


def test_capital_and_energy_in_two_currencies_give_no_price() -> None:
    mixed = Ownership.model_validate(OWNED | {"energy_price": "€0.10/kWh"})

    assert hourly_cost(mixed) is None


def test_hardware_that_is_never_used_has_no_hourly_price() -> None:
    assert hourly_cost(Ownership.model_validate(OWNED | {"utilisation": "0%"})) is None


def test_a_blank_price_stays_unknown_and_is_not_stale() -> None:
    sale = sale_of("x/x", offer(), TODAY)

    assert sale.price is None
    assert sale.stale is False


def test_owned_hardware_is_never_stale() -> None:
    sale = sale_of("x/x", offer(owned=OWNED, commitment="owned"), TODAY)

    assert sale.price is not None
    assert sale.stale is False


@pytest.mark.parametrize(
    ("unit", "hourly"), [("USD/h", True), ("EUR/h", True), ("USD/Mtok", False)]
)
def test_a_price_of_tokens_is_not_one_of_time(unit: str, hourly: bool) -> None:
    assert is_hourly(Quantity(value=1.0, unit=unit, basis=Basis.ASSUMPTION)) is hourly
    assert not is_hourly(None)
