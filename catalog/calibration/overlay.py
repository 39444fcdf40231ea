"""A calibration as catalog entries: devices and links with what was measured."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from catalog.calibration.file import CalibrationFile
from catalog.calibration.rates import MeasuredRates, entry_name, rates_of
from catalog.entries import Catalog
from catalog.quantity import Basis, Quantity
from catalog.schema import Device, Link

_SOURCE: Final = "calibration"
_FACTS: Final = (
    *("marketed_memory", "memory", "memory_bandwidth", "rated_clock", "maximum_clock"),
    *("on_chip_cache", "power"),
)
_PLAIN: Final = ("compute_capability", "sockets", "memory_channels", "links", "flop_per_cycle")


def entries_of(file: CalibrationFile, catalog: Catalog) -> dict[str, str]:
    """Files of a catalog folder, by their path in it.

    A product that the catalog has keeps its specifications and gets measured rates; any other
    device becomes an entry of the host's own without peaks. Links of such products get the
    measured all-reduces.
    """
    found: dict[str, str] = {}
    for device in file.devices:
        rates = rates_of(file, device)
        if rates.bandwidth is None and not rates.compute:
            continue
        known = catalog.devices.get(device.catalog_device or "")
        name = entry_name(file, device) if known is None else known.name
        found.setdefault(f"devices/{name}.yaml", _device(file, rates, known, name))
        if known is not None and rates.effective:
            for link in known.links:
                text = _link(file, rates, catalog.link(link))
                found.setdefault(f"links/{link}.yaml", text)
    return found


def _device(
    file: CalibrationFile, rates: MeasuredRates, known: Device | None, name: str
) -> str:
    base = rates.device if known is None else known
    sources: dict[str, Any] = {_SOURCE: _source(file)}
    entry: dict[str, Any] = {
        "name": name,
        "title": base.title,
        "vendor": base.vendor,
        "device_class": base.device_class,
    }
    for field in _PLAIN:
        value = getattr(base, field)
        if value:
            entry[field] = value if isinstance(value, str | int | Mapping) else list(value)
    facts: dict[str, Any] = {
        field: _fact(value, sources)
        for field in _FACTS
        if (value := getattr(base, field)) is not None
    }
    if base.compute:
        facts["compute"] = {kind: _fact(rate, sources) for kind, rate in base.compute.items()}
    achieved: dict[str, Any] = {}
    bandwidth = rates.bandwidth or base.achieved.bandwidth
    if bandwidth is not None:
        achieved["bandwidth"] = _fact(bandwidth, sources)
    compute = {**base.achieved.compute, **rates.compute}
    if compute:
        achieved["compute"] = {kind: _fact(rate, sources) for kind, rate in compute.items()}
    if base.achieved.workspace is not None:
        achieved["workspace"] = _fact(base.achieved.workspace, sources)
    above = list(_above_peak(base, bandwidth, compute))
    if above:
        achieved["above_peak"] = above
    return _yaml(file, {**entry, "sources": sources, **facts, "achieved": achieved})


def _link(file: CalibrationFile, rates: MeasuredRates, link: Link) -> str:
    sources: dict[str, Any] = {_SOURCE: _source(file)}
    rows = {row.devices: row for row in (*link.effective, *rates.effective)}
    entry: dict[str, Any] = {
        "name": link.name,
        "title": link.title,
        "sources": sources,
        "per_direction": _fact(link.per_direction, sources),
    }
    if link.lesson is not None:
        entry["lesson"] = {
            "alpha": _fact(link.lesson.alpha, sources),
            "bandwidth": _fact(link.lesson.bandwidth, sources),
        }
    entry["effective"] = [
        {
            "devices": row.devices,
            "alpha": _fact(row.alpha, sources),
            "bandwidth": _fact(row.bandwidth, sources),
        }
        for _, row in sorted(rows.items())
    ]
    return _yaml(file, entry)


def _above_peak(
    base: Device, bandwidth: Quantity | None, compute: Mapping[Any, Quantity]
) -> Iterator[str]:
    """Rates above their peak, which the sanity checks would refuse unmarked."""
    peak = base.memory_bandwidth
    if bandwidth is not None and peak is not None and bandwidth.value > peak.value:
        yield "bandwidth"
    for kind, rate in compute.items():
        most = base.compute.get(kind)
        if most is not None and rate.value > most.value:
            yield kind


def _source(file: CalibrationFile) -> dict[str, Any]:
    return {"title": file.source, "date": file.day.isoformat()}


def _fact(quantity: Quantity, sources: dict[str, Any]) -> dict[str, Any]:
    """A fact with a key among the file's sources, which is made where it is new."""
    fact: dict[str, Any] = {"value": f"{quantity.value:.17g} {quantity.unit}"}
    if not quantity.is_verified:
        fact["source"] = quantity.source
    else:
        key = next(
            (
                key
                for key, source in sources.items()
                if source["title"] == quantity.source
                and source.get("date") == (quantity.date and quantity.date.isoformat())
            ),
            None,
        )
        if key is None:
            key = f"source_{len(sources)}"
            sources[key] = {"title": quantity.source}
            if quantity.date is not None:
                sources[key]["date"] = quantity.date.isoformat()
        fact["source"] = key
    if quantity.basis is not Basis.SPECIFICATION:
        fact["basis"] = quantity.basis.value
    return fact


def _yaml(file: CalibrationFile, entry: Mapping[str, Any]) -> str:
    """YAML of one mapping; JSON's flow form is YAML too, and quotes what must be quoted."""
    lines = [f"# From the {file.source} of {file.day.isoformat()}: runoff calibrate"]
    lines += [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in entry.items()]
    return "\n".join(lines) + "\n"
