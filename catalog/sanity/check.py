"""All checks over all entries; an entry that cannot be read is a finding, not the end."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, TypeVar

from catalog.entries import Catalog, Kind, Offers
from catalog.errors import CatalogError
from catalog.sanity.devices import device_findings
from catalog.sanity.finding import Finding
from catalog.sanity.links import link_findings
from catalog.sanity.models import model_findings
from catalog.sanity.offers import offer_findings
from catalog.sanity.runtimes import runtime_findings
from catalog.schema import Runtime

T = TypeVar("T")


def check(catalog: Catalog, today: dt.date) -> list[Finding]:
    """Findings of every entry of the catalog, errors first."""
    devices, broken_devices = _readable("device", catalog.devices)
    links, broken_links = _readable("link", catalog.links)
    models, broken_models = _readable("model", catalog.models)
    offers, broken_offers = _readable("offer", catalog.offers)
    findings = [*broken_devices, *broken_links, *broken_models, *broken_offers]
    for device in devices.values():
        findings += device_findings(device, catalog.links)
    for link in links.values():
        findings += link_findings(link)
    for model in models.values():
        findings += model_findings(model)
    for name, offer in offers.items():
        findings += offer_findings(name, offer, catalog, today)
    return sorted(findings, key=lambda finding: finding.severity)


def check_runtimes(runtimes: Mapping[str, Runtime]) -> list[Finding]:
    """Findings of every runtime's capabilities."""
    return [finding for runtime in runtimes.values() for finding in runtime_findings(runtime)]


def _readable(kind: Kind, entries: Mapping[str, T]) -> tuple[dict[str, T], list[Finding]]:
    """Entries that can be read, and a finding for each file that cannot."""
    readable: dict[str, T] = {}
    broken = []
    for unit, read in _units(entries):
        try:
            readable |= read()
        except CatalogError as error:
            broken.append(_unreadable(kind, unit, error))
    return readable, broken


def _units(entries: Mapping[str, Any]) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    """What is read at once: an entry, or for offers a cloud."""
    if isinstance(entries, Offers):
        for cloud in entries.clouds():
            yield cloud, partial(entries.of_cloud, cloud)
    else:
        for name in entries:
            yield name, partial(_single, entries, name)


def _single(entries: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {name: entries[name]}


def _unreadable(kind: Kind, name: str, error: CatalogError) -> Finding:
    return Finding(
        severity="error",
        kind=kind,
        name=name,
        steps=(),
        seen=f"{error.where}: {error.seen}",
        do=error.do,
    )
