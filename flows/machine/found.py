"""Accelerators as values; None is not told, never zero and never "no".

Standard library only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDevice:
    """One accelerator. ``slices`` are the MIG devices that it is shared out in.

    ``fabric`` is the state of its registration with the NVSwitch fabric; None where it has
    none. ``processes`` are ids of those that compute on it, as the driver's namespace has them.
    """

    index: int
    name: str
    uuid: str | None = None
    memory_mib: int | None = None
    mig: bool | None = None
    slices: tuple[int, ...] = ()  # MiB of each
    persistence: bool | None = None
    ecc: bool | None = None
    ecc_pending: bool | None = None
    remapped_rows: int | None = None
    is_remapping_pending: bool | None = None
    vbios: str | None = None
    pcie_gen: int | None = None
    pcie_gen_most: int | None = None
    pcie_width: int | None = None
    pcie_width_most: int | None = None
    power_limit_w: float | None = None
    graphics_mhz_most: float | None = None
    memory_mhz_most: float | None = None
    fabric: str | None = None
    processes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundMachine:
    """What a machine's tools tell of its accelerators; ``why_none`` where they tell nothing.

    ``links`` names the connection of each pair of devices: ``NV18``, ``PHB``, ….
    """

    vendor: str | None = None
    driver: str | None = None
    cuda: str | None = None
    devices: tuple[FoundDevice, ...] = ()
    links: Mapping[tuple[int, int], str] = field(default_factory=dict)
    fabric_manager: str | None = None
    why_none: str = ""

    def to_json(self) -> dict[str, Any]:
        """The machine's accelerators as JSON values."""
        return {
            "vendor": self.vendor,
            "driver": self.driver,
            "cuda": self.cuda,
            "devices": [asdict(each) for each in self.devices],
            "links": {f"{one}-{other}": link for (one, other), link in self.links.items()},
            "fabric_manager": self.fabric_manager,
            "why_none": self.why_none,
        }

    @classmethod
    def of(cls, told: Mapping[str, Any]) -> FoundMachine:
        """The machine that ``to_json`` wrote, on another host."""
        devices = tuple(_device(each) for each in told["devices"])
        links = {
            (int(one), int(other)): link
            for pair, link in told["links"].items()
            for one, _, other in (pair.partition("-"),)
        }
        return cls(**{**told, "devices": devices, "links": links})


def _device(told: Mapping[str, Any]) -> FoundDevice:
    values: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in told.items()
    }
    return FoundDevice(**values)
