from __future__ import annotations

from pathlib import Path

import pytest

from flows.control.host import Here
from tests.flows.fake_smi.stand_in import StandIn


@pytest.fixture
def smi(tmp_path, monkeypatch) -> StandIn:
    return StandIn(tmp_path, monkeypatch).is_of("h100-sxm-535")


@pytest.fixture
def tree(tmp_path) -> Path:
    """A root with the kernel's files of a machine of two CPUs that has all settings."""
    root = tmp_path / "root"
    cpus = root / "sys/devices/system/cpu"
    for cpu in range(2):
        plant(cpus / f"cpu{cpu}/cpufreq/scaling_governor", "powersave\n")
    plant(cpus / "intel_pstate/no_turbo", "0\n")
    plant(cpus / "smt/control", "on\n")
    plant(root / "sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    plant(root / "proc/sys/kernel/numa_balancing", "1\n")
    plant(root / "proc/swaps", "Filename\tType\tSize\tUsed\tPriority\n")
    return root


@pytest.fixture
def machine(tree) -> Here:
    return Here(root=tree)


def plant(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
