"""``amd-smi static --json`` as values, over the shapes of its releases.

Standard library only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from flows.machine.found import FoundDevice, FoundMachine


def machine_of(text: str) -> FoundMachine:
    """The accelerators that the driver lists; none, with the reason, where it lists none."""
    try:
        told = json.loads(text)
    except ValueError:
        return FoundMachine(why_none=" ".join(text.split())[:300] or "it said nothing")
    told = told.get("gpu_data", []) if isinstance(told, Mapping) else told
    devices = tuple(_device(each) for each in told if isinstance(each, Mapping))
    driver = next((_text(each, "driver.version") for each in told), None)
    return FoundMachine(
        vendor="amd",
        driver=driver,
        devices=devices,
        why_none="" if devices else "the driver lists no device",
    )


def _device(told: Mapping[str, Any]) -> FoundDevice:
    partition = _text(told, "partition.compute_partition")
    return FoundDevice(
        index=int(told["gpu"]),
        name=_text(told, "asic.market_name") or "unknown",
        uuid=_text(told, "asic.asic_serial"),
        memory_mib=_whole(told, "vram.size"),
        mig=None if partition is None else partition != "SPX",
        vbios=_text(told, "vbios.version") or _text(told, "ifwi.version"),
        pcie_width_most=_whole(told, "bus.max_pcie_width"),
        pcie_gen_most=_whole(told, "bus.pcie_interface_version"),
        power_limit_w=_whole(told, "limit.socket_power") or _whole(told, "limit.max_power"),
    )


def _at(told: Any, path: str) -> Any:
    for part in path.split("."):
        told = told.get(part) if isinstance(told, Mapping) else None
    return told.get("value") if isinstance(told, Mapping) else told


def _text(told: Any, path: str) -> str | None:
    found = _at(told, path)
    return found if isinstance(found, str) and found not in ("", "N/A") else None


def _whole(told: Any, path: str) -> int | None:
    """A number, or the one in a text: ``Gen 5``."""
    found = re.search(r"\d+", str(_at(told, path)))
    return int(found[0]) if found else None
