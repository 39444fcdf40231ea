"""What is asked of a host: which benchmarks, on which CPUs and devices, how large, how long."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from catalog.placement import CPU_CLASSES
from flows.machine.found import FoundMachine
from flows.system.facts import SystemFacts

BEYOND_CACHE: Final = 4  # an array is so many times the last level's caches
MOST_BYTES: Final = 16 * 2**30  # of all arrays together
_UNKNOWN_CACHE: Final = 256 * 2**20
_SHARE_OF_FREE: Final = 0.5
_ARRAYS: Final = {"read": 1, "triad": 3}
_LEAST_BYTES: Final = 2**20
_SIZES: Final = ((4, 2048), (32, 4096))  # cores, rows of a square matrix
_LARGEST: Final = 8192
_DEVICE_N: Final = 8192
_MESSAGES: Final = tuple(1 << power for power in range(10, 29, 2))  # 1 KiB to 256 MiB
_CPU_MESSAGES: Final = tuple(1 << power for power in range(10, 25, 2))
_PRECISIONS: Final = ("fp32", "bf16", "fp16", "int8", "fp8")
_CPU_PRECISIONS: Final = ("bf16", "int8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Manner:
    """How long it may take. ``pythons`` are tried first, ``gguf`` is a model on the host."""

    mode: str = "full"
    blocks: int = 10
    block_s: float = 0.1
    exploratory: bool = False
    pythons: tuple[str, ...] = ()
    gguf: str | None = None


SHORT: Final = Manner(mode="short", blocks=5, block_s=0.02)
"""A quick look: fewer and shorter blocks, over arrays as large."""


def order_of(system: SystemFacts, found: FoundMachine, manner: Manner) -> dict[str, Any]:
    """The order as the host takes it, in plain values."""
    all_cpus = cores_of(system)
    groups = [
        {"name": "memory", "steps": list(_memory(system, all_cpus))},
        {"name": "arithmetic", "steps": list(_arithmetic(all_cpus, manner))},
    ]
    if found.devices:
        groups.append({"name": "accelerators", "steps": list(_accelerators(found))})
    groups.append({"name": "links", "steps": list(_links(system, found, all_cpus))})
    if manner.gguf is not None:
        groups.append({"name": "engine", "steps": [_engine(manner, all_cpus)]})
    return {
        "groups": groups,
        "blocks": manner.blocks,
        "block_s": manner.block_s,
        "exploratory": manner.exploratory,
        "pythons": list(manner.pythons),
        "clock_cpu": all_cpus[0] if all_cpus else None,
    }


def device_class(system: SystemFacts) -> str:
    """The catalog's class of the host's processors."""
    is_arm = system.platform.architecture in ("aarch64", "arm64")
    return CPU_CLASSES[1] if is_arm else CPU_CLASSES[0]


def cores_of(system: SystemFacts) -> tuple[int, ...]:
    """One allowed CPU of each core: a second thread of a core adds no bandwidth."""
    allowed = set(system.cpu.allowed)
    firsts = [
        min(set(core.cpus) & allowed) for core in system.cpu.cores if set(core.cpus) & allowed
    ]
    return tuple(sorted(firsts)) or tuple(system.cpu.allowed)


def array_bytes(system: SystemFacts, arrays: int) -> tuple[int, bool]:
    """Bytes of each of so many arrays, and whether no cache holds a quarter of one.

    Four times the last-level caches, within half of the free memory.
    """
    wanted = BEYOND_CACHE * (system.cpu.last_level_bytes or _UNKNOWN_CACHE)
    most, free = MOST_BYTES, system.memory.available_bytes
    limit = system.limits.cgroup_memory_bytes
    for bound in (free, limit):
        if bound is not None:
            most = min(most, int(bound * _SHARE_OF_FREE))
    size = max(_LEAST_BYTES, min(wanted, most // arrays))
    return size // 64 * 64, size >= wanted


def _memory(system: SystemFacts, all_cpus: Sequence[int]) -> Any:
    chosen = set(all_cpus)
    places: list[tuple[str, list[int]]] = [("all", list(all_cpus))]
    if len(system.cpu.numa) > 1:
        for node in system.cpu.numa:
            own = sorted(chosen & set(node.cpus))
            if own:
                places.append((f"node {node.node}", own))
    if len(all_cpus) > 1:
        places.append(("core", [all_cpus[-1]]))
    for where, cpus in places:
        for mode, arrays in _ARRAYS.items():
            size, is_beyond = array_bytes(system, arrays)
            yield {
                "by": "kernel",
                "what": f"memory {mode}, {where}",
                "name": f"memory_{mode}",
                "mode": mode,
                "where": where,
                "cpus": cpus,
                "bytes": size,
                "working_set_bytes": size * arrays,
                "is_beyond_cache": is_beyond,
            }


def _arithmetic(all_cpus: Sequence[int], manner: Manner) -> Any:
    places: list[tuple[str, list[int]]] = [("all", list(all_cpus))]
    if len(all_cpus) > 1:
        places.append(("core", [all_cpus[-1]]))
    for where, cpus in places:
        yield {
            "by": "numpy",
            "what": f"fp32 matrix product, {where}",
            "name": "matmul",
            "mode": "sgemm",
            "precision": "fp32",
            "where": where,
            "cpus": cpus,
            "bytes": 0,
            "n": _rows(len(cpus), manner),
        }
        tasks = [
            {
                "name": "matmul",
                "what": f"{precision} matrix product, {where}",
                "precision": precision,
                "where": where,
                "torch_device": "cpu",
            }
            for precision in _CPU_PRECISIONS
        ]
        yield {
            "by": "torch",
            "what": f"bf16 and int8 matrix products, {where}",
            "cpus": cpus,
            "n": _rows(len(cpus), manner),
            "tasks": tasks,
        }


def _rows(cores: int, manner: Manner) -> int:
    """Rows of the matrices: more for more cores, half as many in a short look."""
    rows = next((rows for most, rows in _SIZES if cores <= most), _LARGEST)
    return rows // 2 if manner.mode == "short" else rows


def _accelerators(found: FoundMachine) -> Any:
    for device in found.devices:
        tasks: list[dict[str, Any]] = [
            {"name": "memory_copy", "what": "device copy"},
            {"name": "memory_read", "what": "device read"},
            {"name": "host_to_device", "what": "copies from the host"},
            {"name": "device_to_host", "what": "copies to the host"},
        ]
        tasks += [
            {"name": "matmul", "what": f"{each} matrix product", "precision": each}
            for each in _PRECISIONS
        ]
        where = f"accelerator {device.index}"
        for task in tasks:
            task["what"] += f", {where}"
            task |= {"torch_device": f"cuda:{device.index}", "accelerator": device.index}
        yield {"by": "torch", "what": f"rates of {where}", "n": _DEVICE_N, "tasks": tasks}
    if found.vendor == "nvidia":
        yield {
            "by": "text",
            "what": "copies between host and devices by nvbandwidth",
            "argv": [
                *("nvbandwidth", "-t", "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"),
            ],
        }


def _links(system: SystemFacts, found: FoundMachine, all_cpus: Sequence[int]) -> Any:
    count = len(found.devices)
    if count > 1:
        for ranks in sorted({2, count}):
            yield {
                "by": "torch",
                "what": f"all-reduce over {ranks} accelerators",
                "mode": "all_reduce",
                "backend": "nccl",
                "ranks": ranks,
                "device_class": "rocm" if found.vendor == "amd" else "cuda",
                "message_bytes": list(_MESSAGES),
            }
        if found.vendor == "nvidia":
            yield {
                "by": "text",
                "what": f"all-reduce over {count} accelerators by nccl-tests",
                "argv": [
                    *("all_reduce_perf", "-b", "1K", "-e", "256M", "-f", "4"),
                    *("-g", str(count)),
                ],
            }
    elif not found.devices and len(all_cpus) > 1:
        yield {
            "by": "torch",
            "what": "all-reduce between two processes of this host",
            "mode": "all_reduce",
            "backend": "gloo",
            "ranks": 2,
            "device_class": device_class(system),
            "message_bytes": list(_CPU_MESSAGES),
        }


def _engine(manner: Manner, all_cpus: Sequence[int]) -> dict[str, Any]:
    words = ["llama-bench", "-m", str(manner.gguf), "-p", "512", "-n", "64"]
    words += ["-r", str(manner.blocks), "-t", str(len(all_cpus)), "-o", "json"]
    return {"by": "text", "what": "prompt and decoding by llama-bench", "argv": words}
