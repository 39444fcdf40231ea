"""The description of a host as values; None is unknown, never zero and never "no".

``hosts/<id>/system.json`` is ``SystemFacts.to_json()``; docs/doctor.md describes its shape.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

SCHEMA_VERSION: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Cache:
    """Caches of one level and kind: bytes of one, and how many of them the host has."""

    level: int
    kind: str
    bytes_each: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NumaNode:
    """One memory node: its CPUs, and the bytes behind it."""

    node: int
    cpus: tuple[int, ...]
    memory_bytes: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Core:
    """One physical core: its socket, and the CPUs (hardware threads) that share it."""

    socket: int
    cpus: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cpu:
    """The processors. ``allowed`` are the CPUs that this process may run on.

    ``isa`` names the instruction sets that matter to a model. ``governors`` and
    ``turbo`` are what the kernel sets now; a guest rarely sees them.
    """

    model: str | None
    microcode: str | None
    sockets: int | None
    cores: tuple[Core, ...]
    allowed: tuple[int, ...]
    smt: bool | None
    max_mhz: float | None
    isa: tuple[str, ...]
    caches: tuple[Cache, ...]
    numa: tuple[NumaNode, ...]
    governors: tuple[str, ...]
    turbo: bool | None

    @property
    def on_chip_bytes(self) -> int | None:
        """Bytes of all caches that can hold weights, of all levels; None where untold."""
        holding = [each for each in self.caches if each.kind != "instruction"]
        return sum(each.bytes_each * each.count for each in holding) if holding else None

    @property
    def last_level_bytes(self) -> int | None:
        """Bytes of all caches of the last level together; None where untold."""
        last = max((each.level for each in self.caches), default=None)
        if last is None:
            return None
        return sum(each.bytes_each * each.count for each in self.caches if each.level == last)

    def to_json(self) -> dict[str, Any]:
        """The processors as plain values, with the sums."""
        return {
            **asdict(self),
            "on_chip_bytes": self.on_chip_bytes,
            "last_level_bytes": self.last_level_bytes,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes of main memory and swap; ``huge_pages`` is the kernel's transparent mode."""

    total_bytes: int | None
    available_bytes: int | None
    swap_total_bytes: int | None
    huge_pages: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a control group and the shell leave of the host to this process."""

    cgroup_cpus: float | None
    cgroup_memory_bytes: int | None
    open_files: int | None
    open_files_most: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """Kernel, distribution and what lies beneath them."""

    architecture: str
    kernel: str
    distribution: str | None
    clock_source: str | None
    is_virtual: bool | None
    hypervisor: str | None
    product: str | None
    is_container: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bandwidth:
    """Bytes per second that a triad over arrays beyond the caches moved: a measurement.

    ``median`` of the repetitions with the ``lowest`` and ``highest`` of them beside it.
    ``array_bytes`` is one of the three arrays. ``method`` says what was run, and where it
    stands to the truth.
    """

    median: float
    lowest: float
    highest: float
    repetitions: int
    threads: int
    array_bytes: int
    method: str
    unit: str = "B/s"
    basis: str = "measurement"


@dataclass(frozen=True, slots=True, kw_only=True)
class SystemFacts:
    """One host at one time; ``software`` maps a program to its version."""

    host_id: str
    captured_at: dt.datetime
    platform: Platform
    cpu: Cpu
    memory: Memory
    limits: Limits
    software: Mapping[str, str]
    bandwidth: Bandwidth | None = None

    @property
    def usable_memory_bytes(self) -> int | None:
        """The most that this process may have: the host's, or the control group's share."""
        known = [
            each
            for each in (self.memory.total_bytes, self.limits.cgroup_memory_bytes)
            if each is not None
        ]
        return min(known, default=None)

    def to_json(self) -> dict[str, Any]:
        """The host as strict JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "host_id": self.host_id,
            "captured_at": self.captured_at.isoformat(),
            "platform": asdict(self.platform),
            "cpu": self.cpu.to_json(),
            "memory": asdict(self.memory),
            "limits": asdict(self.limits),
            "software": dict(self.software),
            "bandwidth": asdict(self.bandwidth) if self.bandwidth is not None else None,
        }
