"""What is asked of hosts of several kinds: nodes, threads of cores, caches, accelerators."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

import pytest

from flows.calibrate.order import SHORT, Manner, array_bytes, cores_of, order_of
from flows.machine.found import FoundDevice, FoundMachine
from flows.system.facts import Cache, Core, NumaNode
from flows.system.here import facts_here

HERE = facts_here("local", dt.datetime(2026, 11, 30, tzinfo=dt.UTC))
MIB, GIB = 2**20, 2**30
TWO_SOCKETS = replace(
    HERE,
    cpu=replace(
        HERE.cpu,
        allowed=tuple(range(8)),
        cores=tuple(Core(socket=cpu // 2, cpus=(cpu, cpu + 4)) for cpu in range(4)),
        caches=(
            Cache(level=1, kind="data", bytes_each=32 * 1024, count=4),
            Cache(level=3, kind="unified", bytes_each=32 * MIB, count=2),
        ),
        numa=(
            NumaNode(node=0, cpus=(0, 1, 4, 5), memory_bytes=32 * GIB),
            NumaNode(node=1, cpus=(2, 3, 6, 7), memory_bytes=32 * GIB),
        ),
    ),
    memory=replace(HERE.memory, total_bytes=64 * GIB, available_bytes=60 * GIB),
    limits=replace(HERE.limits, cgroup_memory_bytes=None),
)
GPU = FoundDevice(index=0, name="NVIDIA L4", memory_mib=23034)
NONE = FoundMachine(why_none="none")


def steps(system=TWO_SOCKETS, found=NONE, manner=SHORT):
    order = order_of(system, found, manner)
    return {step["what"]: step for group in order["groups"] for step in group["steps"]}


def test_one_thread_runs_on_each_core_that_is_allowed():
    assert cores_of(TWO_SOCKETS) == (0, 1, 2, 3)
    few = replace(TWO_SOCKETS, cpu=replace(TWO_SOCKETS.cpu, allowed=(5, 6)))
    assert cores_of(few) == (5, 6)


def test_each_node_is_measured_alone_all_of_them_together_and_one_core():
    found = {name: step["cpus"] for name, step in steps().items() if "memory" in name}

    assert found == {
        "memory read, all": [0, 1, 2, 3],
        "memory triad, all": [0, 1, 2, 3],
        "memory read, node 0": [0, 1],
        "memory triad, node 0": [0, 1],
        "memory read, node 1": [2, 3],
        "memory triad, node 1": [2, 3],
        "memory read, core": [3],
        "memory triad, core": [3],
    }


def test_arrays_are_four_times_the_last_levels_caches_also_in_a_short_look():
    for manner in (SHORT, Manner()):
        step = steps(manner=manner)["memory triad, all"]
        assert step["bytes"] == 4 * 64 * MIB
        assert step["working_set_bytes"] == 3 * 4 * 64 * MIB
        assert step["is_beyond_cache"]


@pytest.mark.parametrize(
    ("free", "limit", "size", "is_beyond"),
    [
        (60 * GIB, None, 256 * MIB, True),
        (900 * MIB, None, 150 * MIB, False),
        (60 * GIB, 600 * MIB, 100 * MIB, False),
        (None, None, 256 * MIB, True),
    ],
)
def test_arrays_take_half_of_the_free_memory_at_most_and_say_that_they_are_small(
    free, limit, size, is_beyond
):
    system = replace(
        TWO_SOCKETS,
        memory=replace(TWO_SOCKETS.memory, available_bytes=free),
        limits=replace(TWO_SOCKETS.limits, cgroup_memory_bytes=limit),
    )

    assert array_bytes(system, 3) == (size, is_beyond)


def test_a_host_without_accelerators_reduces_between_two_processes():
    step = steps()["all-reduce between two processes of this host"]

    assert (step["backend"], step["ranks"], step["device_class"]) == ("gloo", 2, "cpu-x86")


def test_each_accelerator_is_asked_for_every_rate_and_two_for_their_link():
    pair = FoundMachine(vendor="nvidia", devices=(GPU, replace(GPU, index=1)))
    one, two = steps(found=FoundMachine(vendor="nvidia", devices=(GPU,))), steps(found=pair)

    tasks = [task["what"] for task in one["rates of accelerator 0"]["tasks"]]
    assert tasks[:2] == ["device copy, accelerator 0", "device read, accelerator 0"]
    assert [task for task in tasks if "matrix" in task] == [
        f"{each} matrix product, accelerator 0"
        for each in ("fp32", "bf16", "fp16", "int8", "fp8")
    ]
    assert not [name for name in one if "all-reduce" in name]
    assert two["all-reduce over 2 accelerators"]["backend"] == "nccl"
    assert two["all-reduce over 2 accelerators by nccl-tests"]["argv"][-1] == "2"


def test_a_named_model_is_run_by_llama_bench():
    step = steps(manner=replace(SHORT, gguf="/models/a.gguf"))[
        "prompt and decoding by llama-bench"
    ]

    assert step["argv"][:3] == ["llama-bench", "-m", "/models/a.gguf"]
