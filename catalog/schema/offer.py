"""What can be rented or is owned: instance, devices, price, currency, region, date."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from catalog.quantity import Quantity
from catalog.schema.fields import (
    Bytes,
    Day,
    EnergyPrice,
    Money,
    Power,
    Price,
    Real,
    Share,
    Source,
    Strict,
    Whole,
    resolve_source,
)

Commitment = Literal["on-demand", "spot", "committed", "reserved", "owned"]


class OfferHost(Strict):
    """The machine around the devices."""

    vcpus: Whole | None = Field(default=None, ge=1)
    memory: Bytes | None = None
    cpu: str | None = None


class Ownership(Strict):
    """Hardware that a team owns: what makes its hour cost something."""

    capital: Money
    years: Real = Field(gt=0)
    power: Power
    energy_price: EnergyPrice
    pue: Real = Field(default=1.0, ge=1.0)
    utilisation: Share


def _with_provenance(price: Quantity | None, info: ValidationInfo) -> Quantity | None:
    """A price rests on its row's source and date (fields that stand before it)."""
    if price is None:
        return None
    return replace(price, source=info.data.get("source", ""), date=info.data.get("date"))


class Offer(Strict):
    """One row: how a device is sold. A blank price is unknown, never zero.

    A row's ``source`` is a key of its file's ``sources`` and reads as that source's title;
    a row without a date has its source's. The price carries both.
    """

    name: str = Field(min_length=1)
    device: str
    device_count: Whole = Field(ge=1)
    link: str | None = None
    host: OfferHost = OfferHost()
    region: str
    commitment: Commitment = "on-demand"
    sold_as: Literal["instance", "share"]
    source: str
    date: Day | None = None
    price: Annotated[Price | None, AfterValidator(_with_provenance)] = None
    owned: Ownership | None = None
    notes: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _source_by_its_title(cls, row: object, info: ValidationInfo) -> object:
        if info.context is None or not isinstance(row, dict) or "source" not in row:
            return row
        title, when = resolve_source(str(row["source"]), info.context)
        return {"date": when, **row, "source": title}

    @model_validator(mode="after")
    def _one_way_to_pay(self) -> Offer:
        if self.price is not None and self.owned is not None:
            raise ValueError("an offer has a price or is owned; drop one")
        if self.price is not None and self.date is None:
            raise ValueError("a price needs the date on which it was read; add date:")
        return self


class OfferFile(Strict):
    """All offers of one cloud; ``source`` of a row is a key of ``sources`` or unverified."""

    cloud: str
    title: str
    sources: dict[str, Source] = Field(default_factory=dict)
    offers: tuple[Offer, ...]
