"""Whether a machine reaches what its first pull comes from: registry, index, hub, proxy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

from flows.bench.endpoint import is_loopback
from flows.bench.http import LOOPBACK_ONLY
from flows.hosts.host import CampaignHost

_BY_INSTALLING: Final = ("package index", "fetched by install.sh")
_NAMED_BY: Final = {  # where a plan names no address, its tools take these
    "package index": ("PIP_INDEX_URL", "UV_INDEX_URL", "UV_DEFAULT_INDEX"),
    "model hub": ("HF_ENDPOINT",),
}
_PORTS: Final = {"http": 80, "https": 443}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is fetched from, and the ``HOST:PORT`` that the machine must reach for it."""

    what: str
    address: str


def sources(
    needs: Iterable[Mapping[str, Any]], environment: Mapping[str, str], *, installs: bool
) -> tuple[Source, ...]:
    """What a launch's needs lead to from a machine with this environment, each once.

    Only addresses that somebody names: a tool's own default is not known here, but the proxy
    that leads to it is. ``installs``: a release is put there too.
    """
    found: dict[Source, None] = {}
    for need in needs:
        what = str(need["reason"])
        if need["kind"] != "address" or (what in _BY_INSTALLING and not installs):
            continue
        for source in _ways(what, str(need["name"]), environment):
            host = source.address.rpartition(":")[0]
            if environment.get(LOOPBACK_ONLY) != "1" or is_loopback(host):
                found[source] = None
    return tuple(found)


def unreached(host: CampaignHost, asked: Iterable[Source]) -> Iterator[tuple[Source, str]]:
    """What the machine does not reach, each with why."""
    for source in asked:
        why = host.reaches(source.address)
        if why is not None:
            yield source, why


def _ways(what: str, name: str, environment: Mapping[str, str]) -> Iterator[Source]:
    named = name if _is_address(name) else _first(environment, _NAMED_BY.get(what, ()))
    if named is not None and named.startswith(("/", "file:")):
        return  # a folder is not reached
    scheme, place = _parts(named) if named is not None else ("https", None)
    proxy = _first(environment, (f"{scheme}_proxy", f"{scheme.upper()}_PROXY"))
    exempt = _first(environment, ("no_proxy", "NO_PROXY")) or ""
    if proxy is not None and not (place and _is_exempt(place.rpartition(":")[0], exempt)):
        yield Source(what=f"proxy to the {what}", address=_parts(proxy)[1])
    elif place is not None:
        yield Source(what=what, address=place)


def _is_exempt(host: str, listed: str) -> bool:
    """Whether the list of a ``no_proxy`` has the host, or a domain that it is of."""
    names = [each.strip().removeprefix(".") for each in listed.split(",") if each.strip()]
    return any(each in ("*", host) or host.endswith(f".{each}") for each in names)


def _is_address(name: str) -> bool:
    """Whether a need names where it comes from; else it says whose default it is."""
    return bool(name) and " " not in name


def _parts(address: str) -> tuple[str, str]:
    """Scheme and ``HOST:PORT`` of an address; a registry's has no scheme."""
    found = urlsplit(address if "://" in address else f"https://{address}")
    port = found.port or _PORTS.get(found.scheme, 443)
    host = found.hostname or ""
    return found.scheme, f"{f'[{host}]' if ':' in host else host}:{port}"


def _first(environment: Mapping[str, str], names: Iterable[str]) -> str | None:
    return next((environment[name] for name in names if environment.get(name)), None)
