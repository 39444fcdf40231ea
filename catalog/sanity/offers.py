"""An offer's row: known device and link, a plausible price that is not stale."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from catalog.complaints import did_you_mean
from catalog.entries import Catalog
from catalog.quantity import Quantity
from catalog.sanity.finding import Finding, Severity, Steps
from catalog.schema import Offer

STALE_AFTER = dt.timedelta(days=90)
# per device and hour; a month's price in the hour's field, or cents for dollars, lie outside
LOWEST_PRICE, HIGHEST_PRICE = 0.02, 50.0
_COMPARABLE = ("USD/h", "EUR/h", "GBP/h")


def offer_findings(
    name: str, offer: Offer, catalog: Catalog, today: dt.date
) -> Iterator[Finding]:
    """What does not fit in one row; ``name`` is ``cloud/name``."""
    if offer.device not in catalog.devices:
        yield _finding(
            name,
            ("device",),
            f"device {offer.device!r} is not in the catalog",
            did_you_mean(offer.device, catalog.devices),
        )
    if offer.link is not None and offer.link not in catalog.links:
        yield _finding(
            name,
            ("link",),
            f"link {offer.link!r} is not in the catalog",
            did_you_mean(offer.link, catalog.links),
        )
    if offer.price is not None:
        yield from _price(name, offer, offer.price)
        yield from _age(name, offer, today)


def _price(name: str, offer: Offer, price: Quantity) -> Iterator[Finding]:
    each = price.value / offer.device_count
    if price.unit in _COMPARABLE and not LOWEST_PRICE <= each <= HIGHEST_PRICE:
        currency = price.unit.partition("/")[0]
        yield _finding(
            name,
            ("price",),
            f"{price} for {offer.device_count} is {each:.4g} {currency} per device and hour, "
            f"outside {LOWEST_PRICE} to {HIGHEST_PRICE:g}",
            "Check that it is an hour's price, and how many devices it buys",
        )


def _age(name: str, offer: Offer, today: dt.date) -> Iterator[Finding]:
    if offer.date is None:
        return
    if offer.date > today:
        yield _finding(
            name,
            ("date",),
            f"the price is dated {offer.date}, after {today}",
            "Date it with the day on which it was read",
        )
    elif today - offer.date > STALE_AFTER:
        yield _finding(
            name,
            ("date",),
            f"the price is {(today - offer.date).days} days old, stale after "
            f"{STALE_AFTER.days}",
            "Read it again: a stale price cannot decide a signoff",
            "warning",
        )


def _finding(
    name: str, steps: Steps, seen: str, do: str, severity: Severity = "error"
) -> Finding:
    return Finding(severity=severity, kind="offer", name=name, steps=steps, seen=seen, do=do)
