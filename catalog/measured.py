"""A placement with what was measured on its host in the place of what was assumed of it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from catalog.calibration.rates import MeasuredRates
from catalog.placement import Placement, Replaced
from catalog.quantity import Basis, Quantity
from catalog.schema import Link
from catalog.schema.device import EffectiveLink


def as_measured(place: Placement, rates: MeasuredRates, threads: int | None) -> Placement:
    """The placement with its host's measured rates; peaks and bounds stay as they are.

    ``threads`` are a CPU candidate's own; None: it has all cores. A rate that was not measured
    stays assumed.
    """
    own = rates.on_threads(threads) if place.is_cpu else rates
    bandwidth, compute = own.bandwidth, own.compute_for(place.weights)
    link = None if place.link is None else _with_rows(place.link, own.effective)
    named = (
        ("bandwidth", place.achieved_bandwidth, bandwidth),
        ("compute", place.achieved_compute, compute),
    )
    swapped = [
        Replaced(name=name, assumption=_if_assumed(before), measurement=after)
        for name, before, after in named
        if after is not None
    ]
    return replace(
        place,
        achieved_bandwidth=bandwidth or place.achieved_bandwidth,
        achieved_compute=compute or place.achieved_compute,
        link=link,
        replaced=(*swapped, *_rows(place.link, own.effective)),
        contradicted=tuple(_contradicted(place, rates)),
    )


def at_measured(place: Placement) -> Placement | None:
    """The placement with measured rates in the place of unknown peaks; None without any.

    A device's peak is at least what was measured on it, so no true bound is later than the
    one of this placement.
    """
    bandwidth, peak = place.device.memory_bandwidth, place.peak
    bandwidth = bandwidth or _if_measured(place.achieved_bandwidth)
    peak = peak or _if_measured(place.achieved_compute)
    if bandwidth is place.device.memory_bandwidth and peak is place.peak:
        return None
    device = place.device.model_copy(update={"memory_bandwidth": bandwidth})
    return replace(place, device=device, peak=peak)


def _if_assumed(rate: Quantity | None) -> Quantity | None:
    """A host's own entry has no assumptions: its rates are the measured ones."""
    return None if rate is None or rate.basis is Basis.MEASUREMENT else rate


def _if_measured(rate: Quantity | None) -> Quantity | None:
    return rate if rate is not None and rate.basis is Basis.MEASUREMENT else None


def _contradicted(place: Placement, rates: MeasuredRates) -> Iterator[str]:
    """Peaks that the whole device was measured to exceed."""
    pairs = (
        ("peak bandwidth", rates.bandwidth, place.device.memory_bandwidth),
        ("peak compute", rates.compute_for(place.weights), place.peak),
    )
    for name, measured, peak in pairs:
        if measured is not None and peak is not None and measured.value > peak.value:
            yield f"the {name} of {peak}, above which {measured} were measured"


def _with_rows(link: Link, rows: tuple[EffectiveLink, ...]) -> Link:
    """The link with measured all-reduces in the place of the assumed ones of their degrees."""
    if not rows:
        return link
    measured = {row.devices for row in rows}
    kept = tuple(row for row in link.effective if row.devices not in measured)
    return link.model_copy(update={"effective": (*kept, *rows)})


def _rows(link: Link | None, rows: tuple[EffectiveLink, ...]) -> Iterator[Replaced]:
    if link is None:
        return
    before = {row.devices: row for row in link.effective}
    for row in rows:
        assumed = before.get(row.devices)
        yield Replaced(
            name=f"all-reduce start-up, {row.devices} devices",
            assumption=assumed.alpha if assumed is not None else None,
            measurement=row.alpha,
        )
        yield Replaced(
            name=f"all-reduce bandwidth, {row.devices} devices",
            assumption=assumed.bandwidth if assumed is not None else None,
            measurement=row.bandwidth,
        )
