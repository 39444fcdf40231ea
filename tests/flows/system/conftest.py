from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from flows.system.texts import Texts

CPU = "sys/devices/system/cpu"


@pytest.fixture
def planted(tmp_path: Path) -> Callable[[Mapping[str, str]], Texts]:
    """A host whose kernel says what a test wants."""

    def plant(files: Mapping[str, str]) -> Texts:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text + "\n")
        return Texts(tmp_path)

    return plant


def _topology(socket_of: Mapping[int, int], siblings: Mapping[int, str]) -> dict[str, str]:
    """Files of CPUs with their sockets and the threads that share their cores."""
    files = {}
    for cpu, socket in socket_of.items():
        files[f"{CPU}/cpu{cpu}/topology/physical_package_id"] = str(socket)
        files[f"{CPU}/cpu{cpu}/topology/thread_siblings_list"] = siblings[cpu]
    return files


def _caches(cpu: int, shared: str) -> dict[str, str]:
    rows = [
        (1, "Data", "48K"),
        (1, "Instruction", "32K"),
        (2, "Unified", "2048K"),
        (3, "Unified", "107520K"),
    ]
    files = {}
    for index, (level, kind, size) in enumerate(rows):
        folder = f"{CPU}/cpu{cpu}/cache/index{index}"
        files[f"{folder}/level"] = str(level)
        files[f"{folder}/type"] = kind
        files[f"{folder}/size"] = size
        files[f"{folder}/shared_cpu_list"] = shared
    return files


@pytest.fixture
def two_sockets(planted) -> Texts:
    """Two sockets of one core with two threads each, caches of three levels."""
    shared = {0: "0,2", 1: "1,3", 2: "0,2", 3: "1,3"}
    files = _topology({0: 0, 1: 1, 2: 0, 3: 1}, shared)
    for cpu, pair in shared.items():
        files |= _caches(cpu, pair)
    flags = "fpu avx2 avx512f amx_bf16 amx_int8 amx_tile"
    return planted(
        files
        | {
            "proc/cpuinfo": "processor : 0\nmodel name : Intel(R) Xeon(R) Platinum 8480+\n"
            f"microcode : 0x2b\nflags : {flags}\n\nprocessor : 1\nmodel name : other",
            f"{CPU}/smt/active": "1",
            f"{CPU}/intel_pstate/no_turbo": "1",
            f"{CPU}/cpu0/cpufreq/scaling_governor": "performance",
            f"{CPU}/cpu1/cpufreq/scaling_governor": "powersave",
            f"{CPU}/cpu0/cpufreq/cpuinfo_max_freq": "3800000",
            "sys/devices/system/node/node0/cpulist": "0,2",
            "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal: 1024 kB\nNode 0 x: 1 kB",
            "sys/devices/system/node/node1/cpulist": "1,3",
        }
    )
