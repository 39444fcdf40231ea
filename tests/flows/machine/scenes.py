"""The machines of the stand-ins as their tools tell them."""

from __future__ import annotations

from flows.machine import amd, nvidia
from flows.machine.found import FoundMachine
from tests.flows.fake_smi.stand_in import FOLDER


def scene(name: str) -> FoundMachine:
    folder = FOLDER / "scenes" / name
    if name.startswith("mi"):
        return amd.machine_of((folder / "static.json").read_text())
    return nvidia.machine_of((folder / "q.xml").read_text(), (folder / "topo.txt").read_text())
