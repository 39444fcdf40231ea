"""Addresses as they may be written down: some servers take their key in the query."""

import re
from urllib.parse import parse_qsl

MASK = "***"
_LOGIN = re.compile(r"(?<=://)[^/?#@]*@")


def shown(url: str) -> str:
    """The address with a mask for each value of its query, and for a login in it."""
    place, mark, query = _LOGIN.sub(f"{MASK}@", url).partition("?")
    return place + mark + "&".join(map(_masked, query.split("&"))) if query else place + mark


def _masked(part: str) -> str:
    name, equals, _ = part.partition("=")
    return f"{name}={MASK}" if equals else MASK


def query_values(url: str) -> set[str]:
    """What stands in the query, as it is written and as a server reads it."""
    query = url.partition("?")[2].partition("#")[0]
    written = {part.partition("=")[2] or part for part in query.split("&")}
    return {value for _, value in parse_qsl(query)} | written - {""}
