"""What a machine costs per hour at its launch: price list, spot history, or the catalog."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterable
from typing import Any, Final

from catalog.quantity import Basis, Quantity
from flows.amazon.api import Api, ApiError, filters

_LIST_REGION: Final = "us-east-1"  # the price list is served from few regions
_OLDEST: Final = dt.timedelta(days=90)
_UNIT: Final = "USD/h"
_ASKED: Final = {
    "operatingSystem": "Linux",
    "tenancy": "Shared",
    "preInstalledSw": "NA",
    "capacitystatus": "Used",
    "marketoption": "OnDemand",
}


def price_at_launch(
    api: Api,
    *,
    region: str,
    zone: str,
    instance_type: str,
    market: str,
    now: dt.datetime,
    stated: Quantity | None,
) -> Quantity | None:
    """USD per hour with its source and day; the stated price where AWS's is not to be had.

    A capacity block is paid beforehand: no list has its price.
    """
    if market == "capacity-block":
        return stated
    try:
        if market == "spot":
            found = _spot(api, region, zone, instance_type, now)
        else:
            found = _listed(api, region, instance_type)
    except (ApiError, KeyError, ValueError, TypeError):
        return stated
    if found is None:
        return stated
    source = "AWS spot price history" if market == "spot" else "AWS price list"
    return Quantity(
        value=found, unit=_UNIT, basis=Basis.ASSUMPTION, source=source, date=now.date()
    )


def _listed(api: Api, region: str, instance_type: str) -> float | None:
    asked = {**_ASKED, "instanceType": instance_type, "regionCode": region}
    answer = api(
        "pricing",
        "get_products",
        _LIST_REGION,
        ServiceCode="AmazonEC2",
        Filters=[
            {"Type": "TERM_MATCH", "Field": field, "Value": value}
            for field, value in asked.items()
        ],
    )
    return only(hourly_usd(json.loads(entry)) for entry in answer["PriceList"])


def hourly_usd(product: dict[str, Any]) -> set[float]:
    """Every price per hour in USD among a product's on-demand terms."""
    return {
        float(dimension["pricePerUnit"]["USD"])
        for term in product["terms"]["OnDemand"].values()
        for dimension in term["priceDimensions"].values()
        if dimension["unit"] == "Hrs" and "USD" in dimension["pricePerUnit"]
    }


def only(prices: Iterable[set[float]]) -> float | None:
    """The one price above zero that all agree on; None where they do not."""
    found = {price for each in prices for price in each if price > 0}
    return found.pop() if len(found) == 1 else None


def _spot(
    api: Api, region: str, zone: str, instance_type: str, now: dt.datetime
) -> float | None:
    answer = api(
        "ec2",
        "describe_spot_price_history",
        region,
        InstanceTypes=[instance_type],
        ProductDescriptions=["Linux/UNIX"],
        StartTime=now,
        Filters=filters(availability_zone=zone),
    )
    fresh = [
        each
        for each in answer["SpotPriceHistory"]
        if each["AvailabilityZone"] == zone and now - each["Timestamp"] <= _OLDEST
    ]
    newest = max(fresh, key=lambda each: each["Timestamp"], default=None)
    return float(newest["SpotPrice"]) if newest is not None else None
