"""What a calibration is of: a host's hardware, kernel and driver, in one digest."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from flows.machine.found import FoundMachine
from flows.system.facts import SystemFacts

_GIB: Final = 2**30


def hardware_of(system: SystemFacts, found: FoundMachine) -> dict[str, Any]:
    """Facts that can move a microbenchmark; nothing that differs between equal machines.

    Memory is in whole GiB, since a kernel keeps some of it back; clocks and governor are
    conditions of a measurement, not the machine.
    """
    cpu, platform = system.cpu, system.platform
    memory = system.usable_memory_bytes
    return {
        "architecture": platform.architecture,
        "kernel": platform.kernel,
        "is_virtual": platform.is_virtual,
        "product": platform.product,
        "cpu": cpu.model,
        "microcode": cpu.microcode,
        "sockets": cpu.sockets,
        "cores": len(cpu.cores),
        "allowed_cpus": list(cpu.allowed),
        "smt": cpu.smt,
        "caches": [[each.level, each.kind, each.bytes_each, each.count] for each in cpu.caches],
        "nodes": [list(node.cpus) for node in cpu.numa],
        "memory_gib": None if memory is None else round(memory / _GIB),
        "cgroup_cpus": system.limits.cgroup_cpus,
        "driver": found.driver,
        "accelerators": [
            [
                each.name,
                each.memory_mib,
                each.mig,
                each.power_limit_w,
                each.pcie_gen_most,
                each.pcie_width,
            ]
            for each in found.devices
        ],
        "links": {f"{one}-{other}": link for (one, other), link in sorted(found.links.items())},
    }


def fingerprint_of(hardware: Mapping[str, Any]) -> str:
    """SHA-256 of the facts, the same for equal ones."""
    plain = json.dumps(hardware, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(plain.encode()).hexdigest()


def changed(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """What differs, in words: ``kernel was 6.1, is 6.8``."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return "; ".join(
        f"{name.replace('_', ' ')} was {before.get(name)}, is {now.get(name)}" for name in names
    )
