"""A server's words without the values of headers and queries that it may have repeated."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Final

from flows.load.address import MASK, query_values
from flows.load.plan import Endpoint

_SHORTEST: Final = 6  # a shorter value is part of ordinary words
_SCHEME: Final = "Bearer"


def masked(text: str, endpoints: Iterable[Endpoint]) -> str:
    """The text with a mask in place of each value of the endpoints' headers and queries."""
    for spelling in _spellings(endpoints):
        text = text.replace(spelling, MASK)
    return text


def _spellings(endpoints: Iterable[Endpoint]) -> list[str]:
    """Each value whole, each long word of it (a key without its scheme), as JSON has them."""
    values: set[str] = set()
    for endpoint in endpoints:
        values |= {*endpoint.headers.values(), *query_values(endpoint.url)}
    plain = values | {word for value in values for word in value.split()}
    found = {spelling for value in plain for spelling in (value, json.dumps(value)[1:-1])}
    secret = [one for one in found if len(one) >= _SHORTEST and one != _SCHEME]
    return sorted(secret, key=len, reverse=True)
