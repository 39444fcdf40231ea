"""What an hour of a candidate costs: stated, rented at a list price, or owned."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass

from catalog.quantity import Basis, Quantity
from catalog.schema import Offer, Ownership

STALE_AFTER_DAYS = 90
HOURS_PER_YEAR = 8766.0
_PER_HOUR = "/h"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sale:
    """What an hour costs and how it is sold; an unknown price is None, never zero.

    The price is the whole instance's. ``stale`` marks an offer's price that is older than
    90 days; ``stated`` one that the campaign states in place of the offer's.
    """

    offer: str | None = None
    price: Quantity | None = None
    sold_as: str | None = None
    commitment: str | None = None
    stale: bool = False
    stated: bool = False


def sale_of(name: str | None, offer: Offer | None, today: dt.date) -> Sale:
    """How an offer is sold, at its list price or at what owning it costs."""
    if offer is None:
        return Sale(offer=name)
    price = hourly_cost(offer.owned) if offer.owned is not None else offer.price
    return Sale(
        offer=name,
        price=price,
        sold_as=offer.sold_as,
        commitment=offer.commitment,
        stale=offer.price is not None and is_stale(offer.date, today),
    )


def hourly_cost(owned: Ownership) -> Quantity | None:
    """Cost of an hour in use: capital over the hours used, and the energy of that hour.

    None where capital and energy are in different currencies.
    """
    currency = owned.capital.unit
    if owned.energy_price.unit.partition("/")[0] != currency or not owned.utilisation.value:
        return None
    hours = owned.years * HOURS_PER_YEAR * owned.utilisation.value
    energy = owned.power.value / 1e3 * owned.pue * owned.energy_price.value
    return Quantity(
        value=owned.capital.value / hours + energy,
        unit=currency + _PER_HOUR,
        basis=Basis.ASSUMPTION,
        source="owned: capital over the hours used, plus energy",
    )


def is_hourly(price: Quantity | None) -> bool:
    """Whether a price is one of time, not of tokens."""
    return price is not None and price.unit.endswith(_PER_HOUR)


def is_stale(date: dt.date | None, today: dt.date) -> bool:
    """Whether a price read on ``date`` is older than 90 days, or its day is not known."""
    return date is None or (today - date).days > STALE_AFTER_DAYS
