"""What is asked of a machine for the time of an experiment, as steps for its controller.

A step says how a setting is read, set and put back; nothing here acts. Settings of a whole
device (clocks, power) are refused where the device is shared out in MIG slices: they are not
the slice's to set.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import yaml

_FOLDER: Final = Path(__file__).parent / "hosts" / "control"
Vendor = Literal["nvidia", "amd"]
Switch = Literal["on", "off"]
MIG: Final = "in MIG mode clocks and power belong to the whole device, not to a slice"
UNKNOWN: Final = "this vendor's tool has no such setting"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceControl:
    """What is asked of each accelerator; None is left as it is.

    A clock must be one that the device sustains under this load: a higher one is accepted and
    not held.
    """

    persistence: Switch | None = "on"
    power_limit_w: int | None = None
    graphics_clock_mhz: int | None = None
    memory_clock_mhz: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CpuControl:
    """What is asked of the processors and the kernel; None is left as it is."""

    governor: str | None = "performance"
    turbo: Switch | None = None
    smt: Switch | None = None
    huge_pages: Literal["always", "madvise", "never"] | None = None
    numa_balancing: Switch | None = None
    swap: Literal["off"] | None = "off"


def device_steps(
    asked: DeviceControl, vendor: Vendor, devices: Sequence[int], *, mig: Sequence[int] = ()
) -> list[dict[str, Any]]:
    """Steps for accelerators by index; ``mig`` are those that are shared out in slices."""
    return [
        _device_step(name, value, vendor, device, is_mig=device in mig)
        for device in devices
        for name, value in _stated(asked)
        if not (vendor == "amd" and name == "persistence")  # AMD's driver always persists
    ]


def cpu_steps(asked: CpuControl) -> list[dict[str, Any]]:
    """Steps for the processors and the kernel, as JSON values."""
    told = _settings("cpu")
    return [
        {"name": name, "target": "host", "wanted": str(value), **told[name]}
        for name, value in _stated(asked)
    ]


def numa_prefix(nodes: Sequence[int], *, has_numactl: bool) -> tuple[str, ...]:
    """Words before a server's command that bind its threads and memory to these nodes.

    Empty where no node is asked for, or the host has no numactl: it is then not bound.
    """
    if not nodes or not has_numactl:
        return ()
    where = ",".join(str(node) for node in sorted(set(nodes)))
    return ("numactl", f"--cpunodebind={where}", f"--membind={where}")


def _stated(asked: DeviceControl | CpuControl) -> Iterator[tuple[str, Any]]:
    for each in fields(asked):
        value = getattr(asked, each.name)
        if value is not None:
            yield each.name, value


def _device_step(
    name: str, value: Any, vendor: Vendor, device: int, *, is_mig: bool
) -> dict[str, Any]:
    told = _settings(vendor).get(name)
    wanted = {"on": "1", "off": "0"}.get(value, str(value))
    step: dict[str, Any] = {"name": name, "target": f"GPU {device}", "wanted": wanted}
    if told is None:
        return {**step, "refused": UNKNOWN, "is_known": False}
    if is_mig and told.get("whole_device", False):
        return {**step, "refused": MIG}
    places = {"device": device, "value": wanted}
    return {
        **step,
        **{
            key: kept
            for key, kept in told.items()
            if key not in _ARGV and key != "whole_device"
        },
        "read": [word.format_map(places) for word in told["read"]],
        "set": [word.format_map(places) for word in told["set"]],
        # what was found is filled in on the host
        "restore": [word.replace("{device}", str(device)) for word in told["restore"]],
    }


_ARGV: Final = ("read", "set", "restore")


@cache
def _settings(name: str) -> Mapping[str, Mapping[str, Any]]:
    text = (_FOLDER / f"{name}.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Mapping[str, Any]] = yaml.safe_load(text)["settings"]
    return found
