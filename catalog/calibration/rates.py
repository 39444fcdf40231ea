"""A calibration as rates of a device: they take the place of assumptions, never of peaks.

A calibration measures what a device reaches, not what a candidate does on it. So it makes the
assumed column better and rejects nobody: only a specification's peak does. Where no peak is
known, a measured rate is still a lower limit of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from catalog.architecture import Precision
from catalog.calibration.file import AllReduce, CalibratedDevice, CalibrationFile, Figure, Name
from catalog.placement import listed
from catalog.quantity import Basis, Quantity
from catalog.schema import Device
from catalog.schema.device import ComputeType, EffectiveLink

_CORE: Final = "core"
_READS: Final[tuple[Name, ...]] = (
    "memory_read",
    "memory_copy",
    "memory_triad",
)  # decoding reads


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredRates:
    """Rates of one device of a calibrated host.

    ``device`` is the host's own entry, for candidates that name none. ``core_bandwidth`` and
    ``core_compute`` are those of one core alone (CPU only). ``effective`` are measured
    all-reduces between devices of this class on that host.
    """

    device: Device
    kind: str
    source: str
    bandwidth: Quantity | None = None
    compute: Mapping[ComputeType, Quantity] = field(default_factory=dict)
    core_bandwidth: Quantity | None = None
    core_compute: Mapping[ComputeType, Quantity] = field(default_factory=dict)
    effective: tuple[EffectiveLink, ...] = ()
    note: str = ""

    def compute_for(self, weights: Precision) -> Quantity | None:
        """FLOP/s in the number format that serves these weights; None where none was measured.

        A CPU without a product of 16 bits computes such weights in 32.
        """
        return next(iter(listed({**self.compute}, weights)), None) or self.compute.get("fp32")

    def on_threads(self, threads: int | None) -> MeasuredRates:
        """The rates that so many cores reach: as many times one core's, at most the host's.

        None: all cores. One core's figures are measured; those of several lie between.
        """
        if threads is None:
            return self
        bandwidth = _fewer(self.bandwidth, self.core_bandwidth, threads)
        compute = {
            name: rate
            for name, whole in self.compute.items()
            if (rate := _fewer(whole, self.core_compute.get(name), threads)) is not None
        }
        return MeasuredRates(
            device=self.device,
            kind=self.kind,
            source=self.source,
            bandwidth=bandwidth,
            compute=compute,
            effective=self.effective,
            note=self.note,
        )


def rates_of(file: CalibrationFile, device: CalibratedDevice) -> MeasuredRates:
    """One calibrated device's rates as quantities of the basis ``measurement``."""
    compute, core_compute = _compute(file, device, "all"), _compute(file, device, _CORE)
    bandwidth = _bandwidth(file, device, "all")
    effective = tuple(
        _effective(file, each)
        for each in file.all_reduces
        if each.device_class == device.device_class
    )
    return MeasuredRates(
        device=_entry(file, device, bandwidth, compute),
        kind=device.kind,
        source=file.source,
        bandwidth=bandwidth,
        compute=compute,
        core_bandwidth=_bandwidth(file, device, _CORE),
        core_compute=core_compute,
        effective=effective,
        note=f"rates as measured: {file.source}, {file.day.isoformat()}",
    )


def device_for(file: CalibrationFile, wanted: Device | None) -> CalibratedDevice | str:
    """The calibrated device that a candidate runs on, or in words why there is none.

    An accelerator must be of the catalog's entry; a CPU of its class, on whose host the
    calibration was made. A candidate that names no device has the host's: its one kind of
    accelerator, else its processors.
    """
    if wanted is None:
        titles = {each.title for each in file.accelerators}
        if len(titles) > 1:
            return f"{file.host} has several kinds of accelerators; name a device"
        own = file.accelerators or file.devices
        return min(own, key=_reading) if own else f"{file.source} has no device"
    fitting = [
        each
        for each in file.devices
        if each.catalog_device == wanted.name
        or (each.kind == "cpu" and each.device_class == wanted.device_class)
    ]
    if fitting:
        return min(fitting, key=_reading)  # ranks wait for the slowest
    there = ", ".join(each.title for each in file.devices)
    return f"{file.source} has {there}, and no {wanted.title}"


def _reading(device: CalibratedDevice) -> float:
    """Bytes per second of reading; a device without a figure is last."""
    figure = device.figure("memory_read") or device.figure("memory_copy")
    return figure.value if figure is not None else float("inf")


def _bandwidth(file: CalibrationFile, device: CalibratedDevice, where: str) -> Quantity | None:
    """Reading of the memory; arrays that a cache may have held tell nothing of it."""
    for name in _READS:
        figure = device.figure(name, where=where)
        if figure is not None and figure.is_beyond_cache is not False:
            return _quantity(file, figure)
    return None


def _compute(
    file: CalibrationFile, device: CalibratedDevice, where: str
) -> dict[ComputeType, Quantity]:
    return {
        each.precision: _quantity(file, each)
        for each in device.figures
        if each.name == "matmul" and each.where == where and each.precision is not None
    }


def _quantity(file: CalibrationFile, figure: Figure) -> Quantity:
    return Quantity(
        value=figure.value,
        unit=figure.unit,
        basis=Basis.MEASUREMENT,
        source=f"{file.source}, {figure.tool}",
        date=file.day,
    )


def _fewer(whole: Quantity | None, core: Quantity | None, threads: int) -> Quantity | None:
    """What so many cores reach; None where one core's share is not known."""
    if whole is None or core is None:
        return None
    if threads * core.value >= whole.value:
        return whole
    cores = "one core" if threads == 1 else f"{threads} times one core"
    return replace(core, value=threads * core.value, source=f"{core.source}, {cores}")


def _effective(file: CalibrationFile, measured: AllReduce) -> EffectiveLink:
    def quantity(value: float, unit: str) -> Quantity:
        return Quantity(
            value=value,
            unit=unit,
            basis=Basis.MEASUREMENT,
            source=f"{file.source}, {measured.tool}",
            date=file.day,
        )

    return EffectiveLink(
        devices=measured.devices,
        alpha=quantity(measured.alpha_s, "s"),
        bandwidth=quantity(measured.bandwidth, "B/s"),
    )


def _entry(
    file: CalibrationFile,
    device: CalibratedDevice,
    bandwidth: Quantity | None,
    compute: Mapping[ComputeType, Quantity],
) -> Device:
    """The host's device as a catalog entry: sizes as its kernel tells, and no peaks at all."""
    memory, caches = device.memory_bytes, device.on_chip_bytes

    def told(value: int) -> Quantity:
        return Quantity(
            value=value,
            unit="B",
            basis=Basis.SPECIFICATION,
            source=f"the kernel of {file.host}",
            date=file.day,
        )

    entry: dict[str, object] = {
        "name": entry_name(file, device),
        "title": device.title,
        "vendor": device.vendor,
        "device_class": device.device_class,
        "sockets": device.sockets,
        "marketed_memory": told(memory or 0),
        "achieved": {"bandwidth": bandwidth, "compute": dict(compute)},
    }
    if memory is not None:
        entry["memory"] = told(memory)
    if caches is not None:
        entry["on_chip_cache"] = told(caches)
    return Device.model_validate(entry)


def entry_name(file: CalibrationFile, device: CalibratedDevice) -> str:
    """The name of a host's device among catalog entries."""
    host = file.host.replace(":", "-").replace("@", "-")
    return f"{host}-{device.kind}"
