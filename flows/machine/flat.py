"""A machine's accelerators as flat facts, for ``hosts/<id>/system.json`` and its table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from flows.machine.found import FoundDevice, FoundMachine


def host_facts(found: FoundMachine, description: Mapping[str, Any]) -> dict[str, Any]:
    """Name to value; what all devices share is told once, else device by device.

    ``description`` is MLPerf's (``flows.machine.mlperf``): its known fields are kept under
    ``mlperf.``. Devices that could not be looked at are a fact too.
    """
    facts: dict[str, Any] = {
        "accelerators": ", ".join(
            f"{count} × {name}"
            for name, count in Counter(each.name for each in found.devices).items()
        )
        or f"none seen: {found.why_none}",
        "accelerator_driver": found.driver,
        "cuda": found.cuda,
        "fabric_manager": found.fabric_manager,
        "links": {f"GPU {a} – GPU {b}": link for (a, b), link in found.links.items()} or None,
        "accelerator_ids": [each.uuid for each in found.devices if each.uuid] or None,
    }
    for name, values in _fields(found.devices).items():
        distinct = list(dict.fromkeys(values))
        facts[f"accelerator_{name}"] = distinct[0] if len(distinct) == 1 else list(values)
    told = {f"mlperf.{name}": value for name, value in description.items() if value is not None}
    return {**facts, **told}


def _fields(devices: tuple[FoundDevice, ...]) -> dict[str, tuple[Any, ...]]:
    if not devices:
        return {}
    names = (
        *("memory_mib", "mig", "slices", "persistence", "ecc", "ecc_pending", "remapped_rows"),
        *("vbios", "pcie_gen", "pcie_gen_most", "pcie_width", "pcie_width_most"),
        *("power_limit_w", "graphics_mhz_most", "memory_mhz_most", "fabric"),
    )
    return {name: tuple(getattr(each, name) for each in devices) for name in names}
