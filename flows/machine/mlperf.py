"""The system description that MLPerf asks for, as flat facts, where a machine tells them.

The names are those of a submission's system file. None is not told: it is left to a person.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from flows.machine.found import FoundMachine

FIELDS: Final = (
    *("division", "submitter", "status", "system_name", "system_type", "system_type_detail"),
    *("number_of_nodes", "host_processor_model_name", "host_processors_per_node"),
    *("host_processor_core_count", "host_processor_frequency", "host_processor_caches"),
    *("host_processor_interconnect", "host_memory_capacity", "host_memory_configuration"),
    *("host_storage_capacity", "host_storage_type", "host_networking"),
    *("host_networking_topology", "host_network_card_count", "accelerators_per_node"),
    *("accelerator_model_name", "accelerator_frequency", "accelerator_host_interconnect"),
    *("accelerator_interconnect", "accelerator_interconnect_topology"),
    *("accelerator_memory_capacity", "accelerator_memory_configuration"),
    *("accelerator_on-chip_memories", "cooling", "hw_notes", "framework"),
    *("operating_system", "other_software_stack", "sw_notes"),
)


def system_description(
    system: Mapping[str, Any],
    around: Mapping[str, Any],
    found: FoundMachine,
    *,
    framework: str | None = None,
) -> dict[str, Any]:
    """All fields of one node.

    Parameters
    ----------
    system
        ``SystemFacts.to_json()`` of the host.
    around
        ``flows.machine.around.around`` of it.
    framework
        The runtime with its version.
    """
    told = {**_host(system, around), **_accelerators(found), **_software(system, found)}
    return {name: told.get(name) for name in FIELDS} | {
        "framework": framework,
        "number_of_nodes": 1,
    }


def _host(system: Mapping[str, Any], around: Mapping[str, Any]) -> dict[str, Any]:
    cpu, memory, platform = system["cpu"], system["memory"], system["platform"]
    cores, sockets = len(cpu["cores"]), cpu["sockets"]
    size, disks = memory["total_bytes"], around["disk_bytes"]
    return {
        "system_name": platform["product"],
        "system_type_detail": "virtual machine" if platform["is_virtual"] else None,
        "host_processor_model_name": cpu["model"],
        "host_processors_per_node": sockets,
        "host_processor_core_count": cores // sockets if cores and sockets else None,
        "host_processor_frequency": _mhz(cpu["max_mhz"]),
        "host_processor_caches": _caches(cpu["caches"]),
        "host_memory_capacity": None if size is None else f"{size / 2**30:.0f} GiB",
        "host_storage_capacity": None if disks is None else f"{disks / 1e9:.0f} GB",
        "host_storage_type": ", ".join(around["disk_kinds"]) or None,
        "host_networking": _network(around["network_mbit"]),
        "host_network_card_count": around["network_cards"],
        "hw_notes": None if around["bios"] is None else f"BIOS {around['bios']}",
    }


def _accelerators(found: FoundMachine) -> dict[str, Any]:
    names = list(dict.fromkeys(each.name for each in found.devices))
    sizes = {each.memory_mib for each in found.devices}
    clocks = {each.graphics_mhz_most for each in found.devices}
    buses = {(each.pcie_gen_most, each.pcie_width_most) for each in found.devices}
    links = Counter(found.links.values())
    return {
        "accelerators_per_node": len(found.devices) if not found.why_none else None,
        "accelerator_model_name": ", ".join(names) or None,
        "accelerator_memory_capacity": _one(sizes, "{} MiB"),
        "accelerator_frequency": _one(clocks, "{:.0f} MHz at most"),
        "accelerator_host_interconnect": None
        if len(buses) != 1 or None in next(iter(buses))
        else "PCIe Gen{} x{}".format(*next(iter(buses))),
        "accelerator_interconnect": ", ".join(sorted(links)) or None,
        "accelerator_interconnect_topology": ", ".join(
            f"{count} pairs {link}" for link, count in sorted(links.items())
        )
        or None,
    }


def _software(system: Mapping[str, Any], found: FoundMachine) -> dict[str, Any]:
    platform = system["platform"]
    stack = [
        *(f"{name} {version}" for name, version in sorted(system["software"].items())),
        *([f"driver {found.driver}"] if found.driver else []),
        *([f"CUDA {found.cuda}"] if found.cuda else []),
    ]
    return {
        "operating_system": platform["distribution"],
        "other_software_stack": ", ".join(stack) or None,
        "sw_notes": f"kernel {platform['kernel']}",
    }


def _one(values: set[Any], form: str) -> str | None:
    return form.format(next(iter(values))) if len(values) == 1 and None not in values else None


def _mhz(value: float | None) -> str | None:
    return None if value is None else f"{value:.0f} MHz at most"


def _network(speeds: list[int]) -> str | None:
    return ", ".join(f"{speed / 1000:g} Gbit/s" for speed in speeds) or None


def _caches(caches: list[Mapping[str, Any]]) -> str | None:
    words = [
        f"L{each['level']} {each['kind']} {each['count']} x {each['bytes_each'] // 1024} KiB"
        for each in caches
    ]
    return ", ".join(words) or None
