"""From what a host wrote down to its calibration file: rates, spread, fits, disturbances."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping, Sequence
from importlib.metadata import version
from statistics import median
from typing import Any, Final

from pydantic import TypeAdapter

from catalog.calibration.file import (
    AllReduce,
    AllReducePoint,
    CalibratedDevice,
    CalibrationFile,
    Figure,
    Unavailable,
)
from catalog.calibration.fit import fit_all_reduce
from catalog.entries import Catalog
from catalog.schema import Device
from flows.calibrate.fingerprint import fingerprint_of, hardware_of
from flows.calibrate.order import Manner, cores_of, device_class
from flows.calibrate.texts import (
    Collective,
    llama_bench_rates,
    nccl_collective,
    nvbandwidth_rates,
)
from flows.foreign_load import HostLoad, objections
from flows.machine.found import FoundDevice, FoundMachine
from flows.machine.names import form_of, model_of
from flows.system.facts import SystemFacts

_LOAD: Final = TypeAdapter(HostLoad)
_UNIT_BYTES: Final = {
    ("kernel", "memory_read"): (8, "8 B an element, read once"),
    ("kernel", "memory_triad"): (
        24,
        "24 B an element, as STREAM counts; writes that first read their line move 32",
    ),
    ("numpy", "memory_read"): (8, "8 B an element, read once"),
    ("numpy", "memory_triad"): (
        40,
        "40 B an element in two passes; writes that first read their line move 48",
    ),
    ("torch", "memory_copy"): (1, "bytes read and bytes written"),
    ("torch", "memory_read"): (1, "bytes read, by a sum"),
    ("torch", "host_to_device"): (1, "bytes copied from pinned memory"),
    ("torch", "device_to_host"): (1, "bytes copied to pinned memory"),
}
_IN_CACHE: Final = "; matrices within the core's cache, so more than a library reaches"
_MOST_DRIFT: Final = 0.10  # of a core's clock over the calibration
_THROTTLED: Final = 0x8 | 0x40 | 0x80  # slowdown, thermal slowdown, power brake by hardware
_MIB: Final = 2**20
_MEMORY_SHARE: Final = 0.03  # drivers of one card differ by what they hold back
_REASONS: Final = 5  # the column of the clocks' throttle reasons


def built(
    raw: Mapping[str, Any],
    *,
    host: str,
    system: SystemFacts,
    found: FoundMachine,
    manner: Manner,
    catalog: Catalog,
    now: dt.datetime,
) -> CalibrationFile | tuple[str, ...]:
    """The calibration; the disturbances alone where they void it."""
    disturbances = tuple(_disturbances(raw))
    if disturbances and not manner.exploratory:
        return disturbances
    hardware = hardware_of(system, found)
    figures = [*figures_of(raw), *_from_texts(raw)]
    return CalibrationFile(
        runoff_version=version("runoff"),
        host=host,
        measured_at=now,
        seconds=round(float(raw["seconds"]), 3),
        mode="short" if manner.mode == "short" else "full",
        exploratory=manner.exploratory,
        fingerprint=fingerprint_of(hardware),
        hardware=hardware,
        conditions={
            **raw["conditions"],
            "loads": raw["loads"],
            "attempts": raw["attempts"],
            "governors": list(system.cpu.governors),
            "turbo": system.cpu.turbo,
        },
        disturbances=disturbances,
        devices=(
            _cpu(system, _own(figures, None)),
            *(_accelerator(each, found, catalog, figures) for each in found.devices),
        ),
        all_reduces=tuple(_all_reduces(raw, found)),
        unavailable=tuple(_unavailable(raw, figures, found)),
    )


def _own(figures: Sequence[tuple[int | None, Figure]], index: int | None) -> tuple[Figure, ...]:
    """One device's figures; of several tools for one of them the first stays."""
    kept: dict[tuple[str, str, str | None], Figure] = {}
    for device, figure in figures:
        if device == index:
            kept.setdefault((figure.name, figure.where, figure.precision), figure)
    return tuple(kept.values())


def _cpu(system: SystemFacts, figures: tuple[Figure, ...]) -> CalibratedDevice:
    cpu = system.cpu
    return CalibratedDevice(
        kind="cpu",
        title=cpu.model or "unknown processor",
        vendor="the host's",
        device_class=device_class(system),
        sockets=cpu.sockets or 1,
        cores=len(cores_of(system)),
        memory_bytes=system.usable_memory_bytes,
        on_chip_bytes=cpu.on_chip_bytes,
        figures=figures,
    )


def _accelerator(
    device: FoundDevice,
    found: FoundMachine,
    catalog: Catalog,
    figures: Sequence[tuple[int | None, Figure]],
) -> CalibratedDevice:
    return CalibratedDevice(
        kind="accelerator",
        index=device.index,
        title=device.name,
        vendor=found.vendor or "unknown",
        device_class="rocm" if found.vendor == "amd" else "cuda",
        catalog_device=_entry(device, catalog),
        memory_bytes=None if device.memory_mib is None else device.memory_mib * _MIB,
        figures=_own(figures, device.index),
    )


def _entry(found: FoundDevice, catalog: Catalog) -> str | None:
    """The catalog's entry of the device: model and form, and memory within 3%."""
    for name, device in catalog.devices.items():
        form, seen = form_of(device.title), form_of(found.name)
        same = model_of(device.title) == model_of(found.name) and (
            form is None or seen is None or form == seen
        )
        if same and _near(found.memory_mib, device):
            return name
    return None


def _near(memory_mib: int | None, device: Device) -> bool:
    if memory_mib is None or device.memory is None:
        return False
    return abs(memory_mib * _MIB / device.memory.value - 1) <= _MEMORY_SHARE


def figures_of(raw: Mapping[str, Any]) -> Iterator[tuple[int | None, Figure]]:
    """Each rate that a host measured, with the accelerator that it is of; None: its CPU."""
    for each in raw["figures"]:
        way, name = each["way"], each["name"]
        scale, counted = _UNIT_BYTES.get((way, name), (1, ""))
        rates = [units * scale / seconds for seconds, units in each["blocks"]]
        tool = each["tool"] + (_IN_CACHE if (way, name) == ("kernel", "matmul") else "")
        figure = _figure(
            name=name,
            rates=rates,
            where=each.get("where", "all"),
            precision=each.get("precision"),
            threads=len(each["cpus"]) if each.get("cpus") else None,
            working_set_bytes=each.get("working_set_bytes"),
            is_beyond_cache=each.get("is_beyond_cache"),
            tool=tool,
            bytes_counted=counted,
        )
        yield each.get("accelerator"), figure


def _from_texts(raw: Mapping[str, Any]) -> Iterator[tuple[int | None, Figure]]:
    texts = raw["texts"]
    for rate in nvbandwidth_rates(texts.get("nvbandwidth", "")):
        yield (
            rate.device,
            _figure(
                name=rate.name,
                rates=[rate.value],
                tool=rate.tool,
                bytes_counted="bytes copied from or to pinned memory",
            ),
        )
    for engine in llama_bench_rates(texts.get("llama-bench", "")):
        yield (
            0 if engine.on_accelerator else None,
            _figure(
                name=engine.name,
                precision=engine.precision,
                rates=engine.blocks,
                threads=engine.threads,
                tool=engine.tool,
            ),
        )


def _figure(*, name: Any, rates: Sequence[float], **more: Any) -> Figure:
    from reports.stats.replications import replicated  # noqa: PLC0415 - scipy takes a second

    spread = replicated(list(rates))
    middle = median(rates)
    return Figure(
        name=name,
        value=middle,
        unit="FLOP/s" if name == "matmul" else "B/s",
        low=spread.low,
        high=spread.high,
        mad=median(abs(rate - middle) for rate in rates),
        minimum=min(rates),
        maximum=max(rates),
        blocks=tuple(rates),
        **more,
    )


def _all_reduces(raw: Mapping[str, Any], found: FoundMachine) -> Iterator[AllReduce]:
    seen = set()
    for each in raw["all_reduces"]:
        points = tuple(
            AllReducePoint(
                message_bytes=point["message_bytes"],
                seconds=median(point["seconds"]),
                minimum=min(point["seconds"]),
                maximum=max(point["seconds"]),
            )
            for point in each["points"]
        )
        line = _line(
            points, each["devices"], each["device_class"], each["backend"], each["tool"]
        )
        if line is not None:
            seen.add(line.devices)
            yield line
    other = nccl_collective(raw["texts"].get("all_reduce_perf", ""))
    if other is not None and other.devices not in seen:
        device_class = "rocm" if found.vendor == "amd" else "cuda"
        line = _line(_points(other), other.devices, device_class, "nccl", other.tool)
        if line is not None:
            yield line


def _points(found: Collective) -> tuple[AllReducePoint, ...]:
    return tuple(
        AllReducePoint(message_bytes=size, seconds=time, minimum=time, maximum=time)
        for size, time in found.points
    )


def _line(
    points: tuple[AllReducePoint, ...], devices: int, device_class: str, backend: str, tool: str
) -> AllReduce | None:
    fit = fit_all_reduce([(each.message_bytes, each.seconds) for each in points], devices)
    if fit is None:
        return None
    return AllReduce(
        devices=devices,
        device_class=device_class,
        backend=backend,
        tool=tool,
        alpha_s=fit.alpha_s,
        bandwidth=fit.bandwidth,
        residual=fit.residual,
        worst_residual=fit.worst_residual,
        points=points,
    )


def _unavailable(
    raw: Mapping[str, Any],
    figures: Sequence[tuple[int | None, Figure]],
    found: FoundMachine,
) -> Iterator[Unavailable]:
    """What could not be measured, unless another tool could."""
    has_links = any(figure.name == "host_to_device" for _, figure in figures)
    for each in raw["unavailable"]:
        if has_links and "nvbandwidth" in each["what"]:
            continue
        yield Unavailable(what=each["what"], why=each["why"])
    if not found.devices:
        why = found.why_none or "the host has no accelerator"
        yield Unavailable(what="accelerators, and their link to the host", why=why)
    elif len(found.devices) == 1:
        yield Unavailable(what="all-reduce", why="the host has one accelerator")


def _disturbances(raw: Mapping[str, Any]) -> Iterator[str]:
    """What else went on, in the last attempt of each group; what moved the clocks."""
    for group, load in raw["loads"].items():
        for each in objections(_LOAD.validate_python(load)):
            yield f"{group}: {each}"
    before, after = raw["conditions"].get("before", {}), raw["conditions"].get("after", {})
    first, last = before.get("core_mhz"), after.get("core_mhz")
    if first and last and abs(last / first - 1) > _MOST_DRIFT:
        yield f"a core's clock went from {first:,.0f} to {last:,.0f} MHz meanwhile"
    for line in after.get("gpus", ()):
        words = [word.strip() for word in line.split(",")]
        reasons = words[_REASONS] if len(words) > _REASONS else ""
        if reasons.startswith("0x") and int(reasons, 16) & _THROTTLED:
            yield f"accelerator {words[0]} was slowed down by its hardware ({reasons})"
