"""What a candidate delivers and costs at the bound: no server can do better."""

from __future__ import annotations

from catalog.placement import Placement
from catalog.quantity import Basis, Quantity
from catalog.roofline import assumed_request_s, bound_request
from catalog.sale import Sale
from catalog.terms import SECONDS_PER_HOUR

MILLION = 1e6


def best_tokens_per_hour(placement: Placement) -> float | None:
    """Output tokens of all engines at the bound: 3600 · engines · O / time of a request."""
    return _tokens(placement, bound_request(placement).seconds)


def assumed_tokens_per_hour(placement: Placement) -> float | None:
    """The same at the assumed rates, prefill and decode taking turns."""
    return _tokens(placement, assumed_request_s(placement))


def _tokens(placement: Placement, request_s: float | None) -> float | None:
    if not request_s:
        return None
    return SECONDS_PER_HOUR * placement.engines * placement.terms.mean_output / request_s


def cost(sale: Sale, tokens_per_hour: float | None, basis: Basis) -> Quantity | None:
    """The whole instance's price per million output tokens, in the price's currency."""
    if sale.price is None or not tokens_per_hour:
        return None
    currency = sale.price.unit.partition("/")[0]
    value = sale.price.value / tokens_per_hour * MILLION
    return Quantity(value=value, unit=f"{currency}/Mtok", basis=basis, source=sale.price.source)
