"""Processors as /proc/cpuinfo and /sys/devices/system/cpu describe them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from flows.system.facts import Cache, Core, Cpu, NumaNode
from flows.system.texts import Texts, cache_bytes, cpu_list

_CPUS: Final = "sys/devices/system/cpu"
_NODES: Final = "sys/devices/system/node"
_ISA: Final = (
    *("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "avx512_fp16", "avx_vnni"),
    *("amx_tile", "amx_bf16", "amx_int8", "asimd", "asimddp", "sve", "sve2", "i8mm", "bf16"),
)


def cpu_of(texts: Texts, allowed: Sequence[int]) -> Cpu:
    """The host's processors; ``allowed`` are the CPUs that this process may use."""
    about = _cpuinfo(texts)
    cores = _cores(texts)
    sockets = {core.socket for core in cores}
    return Cpu(
        model=_model(about),
        microcode=about.get("microcode"),
        sockets=len(sockets) or None,
        cores=cores,
        allowed=tuple(sorted(allowed)),
        smt=_smt(texts, cores),
        max_mhz=_max_mhz(texts),
        isa=_isa(about),
        caches=_caches(texts),
        numa=tuple(_numa(texts)),
        governors=tuple(sorted(set(_each(texts, "cpufreq/scaling_governor")))),
        turbo=_turbo(texts),
    )


def _cpuinfo(texts: Texts) -> Mapping[str, str]:
    """The first processor's lines."""
    first = (texts.read("proc/cpuinfo") or "").partition("\n\n")[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _model(about: Mapping[str, str]) -> str | None:
    """The name, or on Arm, which has none, the numbers of implementer and part."""
    if "CPU part" in about:
        implementer = about.get("CPU implementer", "unknown")
        return f"Arm implementer {implementer}, part {about['CPU part']}"
    return about.get("model name")


def _isa(about: Mapping[str, str]) -> tuple[str, ...]:
    flags = set((about.get("flags") or about.get("Features") or "").split())
    return tuple(name for name in _ISA if name in flags)


def _cores(texts: Texts) -> tuple[Core, ...]:
    found = {}
    for number, folder in texts.folders(_CPUS, "cpu"):
        topology = f"{folder}/topology"
        socket = texts.number(f"{topology}/physical_package_id")
        if socket is None:
            continue  # offline
        siblings = texts.read(f"{topology}/thread_siblings_list")
        found[cpu_list(siblings) or (number,)] = max(socket, 0)
    return tuple(Core(socket=socket, cpus=cpus) for cpus, socket in sorted(found.items()))


def _smt(texts: Texts, cores: Sequence[Core]) -> bool | None:
    told = texts.read(f"{_CPUS}/smt/active")
    if told in ("0", "1"):
        return told == "1"
    return any(len(core.cpus) > 1 for core in cores) if cores else None


def _caches(texts: Texts) -> tuple[Cache, ...]:
    """Each cache once: CPUs that share one tell of the same one."""
    seen: dict[tuple[int, str, int], set[str]] = {}
    for number, folder in texts.folders(_CPUS, "cpu"):
        for _, index in texts.folders(f"{folder}/cache", "index"):
            level = texts.number(f"{index}/level")
            size = cache_bytes(texts.read(f"{index}/size"))
            kind = (texts.read(f"{index}/type") or "unified").lower()
            if level is not None and size is not None:
                shared = texts.read(f"{index}/shared_cpu_list") or str(number)
                seen.setdefault((level, kind, size), set()).add(shared)
    return tuple(
        Cache(level=level, kind=kind, bytes_each=size, count=len(shared))
        for (level, kind, size), shared in sorted(seen.items())
    )


def _numa(texts: Texts) -> Iterator[NumaNode]:
    for number, folder in texts.folders(_NODES, "node"):
        yield NumaNode(
            node=number,
            cpus=cpu_list(texts.read(f"{folder}/cpulist")),
            memory_bytes=_node_bytes(texts.read(f"{folder}/meminfo")),
        )


def _node_bytes(text: str | None) -> int | None:
    for line in (text or "").splitlines():
        words = line.split()  # Node 0 MemTotal: 8146884 kB
        if "MemTotal:" in words and words[-1] == "kB":
            return int(words[-2]) * 1024
    return None


def _each(texts: Texts, path: str) -> Iterator[str]:
    for _, folder in texts.folders(_CPUS, "cpu"):
        text = texts.read(f"{folder}/{path}")
        if text is not None:
            yield text


def _max_mhz(texts: Texts) -> float | None:
    khz = [int(text) for text in _each(texts, "cpufreq/cpuinfo_max_freq") if text.isdigit()]
    return max(khz) / 1000 if khz else None


def _turbo(texts: Texts) -> bool | None:
    off = texts.read(f"{_CPUS}/intel_pstate/no_turbo")
    if off in ("0", "1"):
        return off == "0"
    boost = texts.read(f"{_CPUS}/cpufreq/boost")
    return boost == "1" if boost in ("0", "1") else None
