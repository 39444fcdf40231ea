"""Texts of GPU tools as several releases print them, and what the benchmarks wrote on hosts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEXTS = Path(__file__).with_name("texts")
NVBANDWIDTH_04 = (TEXTS / "nvbandwidth-0.4.txt").read_text()
NVBANDWIDTH_08_JSON = (TEXTS / "nvbandwidth-0.8.json").read_text()
NCCL_2_10 = (TEXTS / "nccl-tests-2.10.txt").read_text()
NCCL_2_17 = (TEXTS / "nccl-tests-2.17.txt").read_text()
LLAMA_BENCH = (TEXTS / "llama-bench-6710.json").read_text()
LLAMA_BENCH_OLDER = (TEXTS / "llama-bench-older.jsonl").read_text()
NCCL_ONE = "".join(
    line for line in NCCL_2_10.splitlines(keepends=True) if "Rank  1" not in line
)

QUIET = {
    "seconds": 2.0,
    "samples": 4,
    "cpus": 2,
    "ours_cores": 1.9,
    "strangers_cores": 0.01,
    "hidden_cores": 0.0,
    "kernel_cores": 0.01,
    "foreign_share": 0.005,
    "peak_foreign_share": 0.01,
    "steal_share": 0.0,
    "peak_steal_share": 0.0,
    "major_faults": 0,
    "swapped_in_bytes": 0,
    "load_1min": 1.0,
    "strangers": [],
}
BUSY = QUIET | {
    "strangers_cores": 0.9,
    "strangers": [{"pid": 7, "name": "make", "cores": 0.9}],
}


def kernel(name: str, units: float, *, where: str = "all", **more: Any) -> dict[str, Any]:
    """A step as the C program did it: three blocks of a second, a tenth apart."""
    return {
        "name": name,
        "where": where,
        "cpus": [0, 1] if where == "all" else [1],
        "blocks": [[1.0, units], [1.0, units * 1.1], [1.0, units * 1.2]],
        "tool": "C program (gcc 12.2.0, -O3 -march=native)",
        "way": "kernel",
        **more,
    }


def torch(name: str, units: float, **more: Any) -> dict[str, Any]:
    """A task as PyTorch did it on the first accelerator."""
    return {
        "name": name,
        "accelerator": 0,
        "blocks": [[0.1, units / 10], [0.1, units / 10]],
        "tool": "PyTorch 2.7.1 (CUDA 12.8)",
        "way": "torch",
        **more,
    }


def raw(*figures: dict[str, Any], **more: Any) -> dict[str, Any]:
    """What a host wrote down."""
    return {
        "figures": list(figures),
        "all_reduces": [],
        "texts": {},
        "unavailable": [],
        "loads": {"memory": QUIET},
        "attempts": {"memory": 1},
        "conditions": {"before": {"core_mhz": 4000.0}, "after": {"core_mhz": 3990.0}},
        "seconds": 12.0,
        **more,
    }
