"""Why a launch failed, as far as its machine tells: whose fault it was, in words.

A machine that fails says nothing of the candidate that was on it; a candidate that asks for
more memory than there is does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from flows.machine.found import FoundMachine

Whose = Literal["machine", "candidate", "either"]
# NVIDIA's catalogue of Xid errors, as far as it tells whose they are
XIDS: Final[Mapping[int, tuple[Whose, str]]] = {
    13: ("candidate", "a program of it failed"),
    31: ("candidate", "a program of it read memory that is not its own"),
    43: ("candidate", "the device stopped a program that failed"),
    45: ("either", "the device dropped what it was doing, after another fault or a kill"),
    48: ("machine", "a memory error of two bits"),
    61: ("machine", "the device's own controller stopped"),
    62: ("machine", "the device's own controller halted"),
    63: ("machine", "a row of memory is to be remapped"),
    64: ("machine", "a row of memory could not be remapped"),
    74: ("machine", "an NVLink failed"),
    79: ("machine", "the device has fallen off the bus"),
    92: ("machine", "many corrected memory errors"),
    94: ("machine", "a memory error, kept to one program"),
    95: ("machine", "a memory error that was not kept to one program"),
    119: ("machine", "the device's firmware did not answer"),
    120: ("machine", "the device's firmware failed"),
    140: ("machine", "a memory error that was not corrected"),
    145: ("machine", "an NVLink failed"),
    149: ("machine", "an NVLink failed"),
}
_XID: Final = re.compile(r"NVRM: Xid \((?:PCI:)?([0-9a-fA-F:.]+)\): (\d+)")
_OOM: Final = re.compile(r"Out of memory: Killed process (\d+) \(([^)]*)\)")
_GROUP_OOM: Final = re.compile(r"Memory cgroup out of memory: Killed process (\d+) \(([^)]*)\)")
_AMD: Final = re.compile(r"amdgpu.*(GPU reset|ring \S+ timeout|RAS|ECC)", re.IGNORECASE)
_DISK: Final = re.compile(r"I/O error|No space left", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Explanation:
    """One cause that the machine tells, and whose it is."""

    whose: Whose
    words: str


def explanations(
    kernel: Iterable[str], before: FoundMachine, after: FoundMachine
) -> tuple[Explanation, ...]:
    """Causes in the kernel's lines and in what became of the devices, each once."""
    found = [*_lost(before, after)]
    for line in kernel:
        found += _of_line(line)
    return tuple(dict.fromkeys(found))


def is_machines_fault(found: Iterable[Explanation]) -> bool:
    """Whether the machine failed, so that the launch says nothing of its candidate."""
    return any(each.whose == "machine" for each in found)


def _of_line(line: str) -> Iterator[Explanation]:
    xid = _XID.search(line)
    if xid:
        number = int(xid[2])
        whose, words = XIDS.get(number, ("either", "see NVIDIA's list of Xid errors"))
        yield Explanation(whose, f"device {xid[1]}: {words} (Xid {number})")
    group = _GROUP_OOM.search(line)
    host = None if group else _OOM.search(line)
    if group:
        yield Explanation(
            "candidate", f"its group's memory was full: the kernel killed {group[2]}"
        )
    if host:
        yield Explanation("candidate", f"main memory was full: the kernel killed {host[2]}")
    amd = _AMD.search(line)
    if amd:
        yield Explanation("machine", f"the driver tells of the device: {amd[1]}")
    if _DISK.search(line):
        yield Explanation("machine", "a disk failed or is full")


def _lost(before: FoundMachine, after: FoundMachine) -> Iterator[Explanation]:
    there = {each.uuid for each in after.devices}
    for device in before.devices:
        if device.uuid not in there:
            reason = f": {after.why_none}" if after.why_none else ""
            yield Explanation("machine", f"device {device.index} is gone{reason}")
