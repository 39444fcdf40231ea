"""A machine looked at before the first launch on it: what it is, and whether it was ordered."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from catalog.capabilities import supported
from catalog.entries import Catalog
from catalog.schema import Runtime
from deploy_templates.control import CpuControl, DeviceControl, Vendor, cpu_steps, device_steps
from flows.control.host import Host
from flows.machine.around import around
from flows.machine.flat import host_facts
from flows.machine.found import FoundMachine
from flows.machine.mlperf import system_description
from flows.machine.ordered import Ordered
from flows.system.facts import SystemFacts
from reports.run.plan_file import CandidateFacts


def facts_of(system: SystemFacts, found: FoundMachine, hands: Host) -> dict[str, Any]:
    """Flat facts of a machine: its own kernel's, its accelerators', and MLPerf's words."""
    described = system_description(system.to_json(), around(hands), found)
    return {**dict(_flat(system.to_json())), **host_facts(found, described)}


def ordered_of(
    facts: CandidateFacts, catalog: Catalog, runtimes: Mapping[str, Runtime]
) -> Ordered | None:
    """What a candidate's machine must be; None where it states no device."""
    if facts.device is None:
        return None
    device = catalog.device(facts.device)
    runtime = runtimes.get(facts.runtime or "")
    entry = None
    if runtime is not None and facts.version is not None:
        entry = supported(runtime, device.device_class, facts.version)
    return Ordered(
        device=device,
        count=facts.device_count,
        ranks=facts.tensor_parallel,
        minimum_driver=None if entry is None else entry.minimum_driver,
    )


def settings_of(found: FoundMachine, clocks_mhz: Mapping[int, int]) -> list[dict[str, Any]]:
    """What is asked of the machine for the time of a run; clocks only where they are known."""
    steps = cpu_steps(CpuControl())
    vendor = _vendor(found)
    if vendor is None:
        return steps
    mig = [each.index for each in found.devices if each.mig]
    for device in found.devices:
        asked = DeviceControl(graphics_clock_mhz=clocks_mhz.get(device.index))
        steps += device_steps(asked, vendor, [device.index], mig=mig)
    return steps


def _vendor(found: FoundMachine) -> Vendor | None:
    if not found.devices:
        return None
    return "amd" if found.vendor == "amd" else "nvidia"


def _flat(tree: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Nested facts as names with dots, for tables."""
    for name, value in tree.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", value
