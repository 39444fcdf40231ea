"""This machine itself: system, processors, memory, disk, limits, clocks, ports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from deploy_templates.candidate import DEFAULT_PORT
from flows.doctor.reading import Reading, judged
from flows.doctor.tools import Tools
from flows.preflight.probes import Probes
from flows.system.facts import SystemFacts

_GIB: Final = 2**30
_LEAST_MEMORY: Final = 2 * _GIB
_LEAST_DISK: Final = 5 * _GIB
_FEW_FILES, _GOOD_FILES = 256, 4096
_SLOW_CLOCKS: Final = ("hpet", "acpi_pm", "jiffies", "pit", "refined-jiffies")
_TABLE: Final = "/proc/net/tcp"


def machine_readings(
    probes: Probes, tools: Tools, folders: Iterable[Path]
) -> Iterator[Reading]:
    """The machine's parts; ``folders`` are those that a campaign writes to."""
    system = probes.system
    yield _system(system, probes)
    yield _processors(system)
    yield _control(system)
    yield _memory(system)
    for folder in folders:
        yield _disk(folder, probes)
    yield _files(system)
    yield _port(probes)
    yield _clock(system)
    yield judged(
        "kernel stamps",
        "arrivals are stamped" if (stamped := tools.has_stamps()) else "no stamp of arrivals",
        warns_if=not stamped,
        do="Load from Linux: else latencies hold the client's own delays",
    )


def _system(system: SystemFacts, probes: Probes) -> Reading:
    told = system.platform
    parts = [
        f"{told.distribution or 'unknown system'}, kernel {told.kernel}, {told.architecture}"
    ]
    if told.is_virtual:
        parts.append(f"virtual{f' ({told.product})' if told.product else ''}")
    if told.is_container:
        parts.append("in a container")
    if not probes.exists(_TABLE):
        return Reading(
            topic="system",
            state="blocks",
            seen=f"{', '.join(parts)}: no {_TABLE}",
            do="Launch on Linux; from here only endpoints can be measured",
        )
    return Reading(topic="system", state="ok", seen=", ".join(parts))


def _processors(system: SystemFacts) -> Reading:
    cpu = system.cpu
    parts = [cpu.model or "unknown model", f"{len(cpu.allowed)} CPUs may be used"]
    if cpu.cores:
        parts.append(f"{len(cpu.cores)} cores")
    if cpu.smt is not None:
        parts.append("two threads a core" if cpu.smt else "one thread a core")
    if cpu.sockets is not None and cpu.sockets > 1:
        parts.append(f"{cpu.sockets} sockets")
    if cpu.on_chip_bytes is not None:
        parts.append(f"caches {cpu.on_chip_bytes / 2**20:.1f} MiB")
    share = system.limits.cgroup_cpus
    if share is not None:
        parts.append(f"a control group allows {share:g} of them")
    return judged(
        "processors",
        ", ".join(parts),
        warns_if=len(cpu.allowed) < 2 or (share is not None and share < len(cpu.allowed)),
        do="Server and load need cores of their own, and a quota stops both in mid-cell",
    )


def _control(system: SystemFacts) -> Reading:
    cpu = system.cpu
    turbo = {True: "turbo on", False: "turbo off"}
    told = [f"governor {name}" for name in cpu.governors]
    told += [turbo[cpu.turbo]] if cpu.turbo is not None else []
    if not told:
        return Reading(topic="clock control", state="none", seen="not readable here")
    return judged(
        "clock control",
        ", ".join(told),
        warns_if=bool(set(cpu.governors) - {"performance"}),
        do="Set the governor performance: else clocks follow the load",
    )


def _memory(system: SystemFacts) -> Reading:
    memory, most = system.memory, system.usable_memory_bytes
    if most is None or memory.available_bytes is None:
        return Reading(topic="memory", state="none", seen="not readable here")
    swap = f", swap {_size(memory.swap_total_bytes)}" if memory.swap_total_bytes else ""
    return judged(
        "memory",
        f"{_size(most)}, {_size(memory.available_bytes)} free{swap}",
        warns_if=min(most, memory.available_bytes) < _LEAST_MEMORY,
        do="Close other programs: a server that swaps measures the disk",
    )


def _disk(folder: Path, probes: Probes) -> Reading:
    topic = f"disk {folder}"
    reason = probes.unwritable(folder)
    if reason is not None:
        return Reading(
            topic=topic, state="blocks", seen=f"not writable: {reason}", do="Choose another"
        )
    free = probes.room(folder)
    return judged(
        topic,
        f"writable, {_size(free)} free",
        warns_if=free is not None and free < _LEAST_DISK,
        do="Make room: weights and records take gigabytes",
    )


def _files(system: SystemFacts) -> Reading:
    now, most = system.limits.open_files, system.limits.open_files_most
    seen, do = f"{now} open files, at most {most}", "Raise the limit: ulimit -Hn 65536"
    if most is not None and most < _FEW_FILES:
        return Reading(topic="file limit", state="blocks", seen=seen, do=do)
    return judged("file limit", seen, warns_if=most is not None and most < _GOOD_FILES, do=do)


def _port(probes: Probes) -> Reading:
    refused = probes.taken("127.0.0.1", DEFAULT_PORT)
    if refused is None:
        return Reading(topic="port", state="ok", seen=f"{DEFAULT_PORT} is free")
    return Reading(topic="port", state="warns", seen=refused[0], do=refused[1])


def _clock(system: SystemFacts) -> Reading:
    source = system.platform.clock_source
    if source is None:
        return Reading(topic="clock source", state="none", seen="not readable here")
    return judged(
        "clock source",
        source,
        warns_if=source in _SLOW_CLOCKS,
        do="Choose tsc, or the hypervisor's: this one takes microseconds to read",
    )


def _size(count: int | None) -> str:
    return "unknown" if count is None else f"{count / _GIB:.1f} GiB"
