"""What can be rented or is owned: instance, devices, price, currency, region, date."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from catalog.schema.fields import (
    Bytes,
    Day,
    EnergyPrice,
    Money,
    Power,
    Price,
    Share,
    Source,
    Strict,
)

Commitment = Literal["on-demand", "spot", "committed", "reserved", "owned"]


class OfferHost(Strict):
    """The machine around the devices."""

    vcpus: int | None = Field(default=None, ge=1)
    memory: Bytes | None = None
    cpu: str | None = None


class Ownership(Strict):
    """Hardware that a team owns: what makes its hour cost something."""

    capital: Money
    years: float = Field(gt=0)
    power: Power
    energy_price: EnergyPrice
    pue: float = Field(default=1.0, ge=1.0)
    utilisation: Share


class Offer(Strict):
    """One row: how a device is sold. A blank price is unknown, never zero."""

    name: str
    device: str
    device_count: int = Field(ge=1)
    link: str | None = None
    host: OfferHost = OfferHost()
    price: Price | None = None
    owned: Ownership | None = None
    region: str
    commitment: Commitment = "on-demand"
    sold_as: Literal["instance", "share"]
    source: str
    date: Day | None = None
    notes: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _one_way_to_pay(self) -> Offer:
        if self.price is not None and self.owned is not None:
            raise ValueError("an offer has a price or is owned, not both")
        if self.price is not None and self.date is None:
            raise ValueError("a price needs the date on which it was read")
        return self


class OfferFile(Strict):
    """All offers of one cloud; ``source`` of a row is a key of ``sources`` or unverified."""

    cloud: str
    title: str
    sources: dict[str, Source] = Field(default_factory=dict)
    offers: tuple[Offer, ...]
