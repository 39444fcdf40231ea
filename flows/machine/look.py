"""A machine's accelerators, by asking its tools. Standard library only."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from flows.control.host import Host
from flows.machine import amd, nvidia
from flows.machine.found import FoundMachine

_NO_PROGRAM: Final = 127


def found_machine(host: Host) -> FoundMachine:
    """What the first vendor's tool tells; without one nothing, with the reason."""
    told = host.run(("nvidia-smi", "-q", "-x"))
    if told.code != _NO_PROGRAM:
        topology = host.run(("nvidia-smi", "topo", "-m"))
        found = nvidia.machine_of(told.output, topology.output if topology.code == 0 else "")
        return replace(found, fabric_manager=_fabric_manager(host))
    told = host.run(("amd-smi", "static", "--json"))
    if told.code != _NO_PROGRAM:
        return amd.machine_of(told.output)
    return FoundMachine(why_none="neither nvidia-smi nor amd-smi is there")


def _fabric_manager(host: Host) -> str | None:
    """The state of NVIDIA's Fabric Manager: ``active``, ``inactive``, …; None where untold."""
    told = host.run(("systemctl", "is-active", "nvidia-fabricmanager"))
    word = told.output.strip()
    return word if word in ("active", "inactive", "failed", "activating") else None
