from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.host_counters import Counters, Task, counters


def stat(pid: int, name: str, parent: int, *, ticks: int = 0, flags: int = 0) -> str:
    numbers = [parent, pid, pid, 0, -1, flags, 0, 0, 7, 0, ticks, 0, 3, 4, 20, 0, 1, 0, 500]
    return f"{pid} ({name}) S " + " ".join(map(str, numbers))


@pytest.fixture
def proc(tmp_path: Path) -> Path:
    (tmp_path / "stat").write_text(
        "cpu  10 20 30 400 5 6 7 8 9 9\ncpu0 1 2 3 4\ncpu1 1 2 3 4\nintr 1 2\n"
    )
    (tmp_path / "vmstat").write_text("nr_free_pages 1\npswpin 42\npswpout 1\n")
    (tmp_path / "loadavg").write_text("1.25 1.00 0.50 1/90 123\n")
    for pid, text in {
        10: stat(10, "odd) name (x", 1, ticks=99),
        11: stat(11, "kworker/0:1", 2, flags=0x0020_8040),
    }.items():
        (tmp_path / str(pid)).mkdir()
        (tmp_path / str(pid) / "stat").write_text(text + "\n")
    (tmp_path / "12").mkdir()  # ended while we read
    return tmp_path


def test_counters_of_the_host_are_told_apart(proc):
    found = counters(5, proc)

    assert (found.at_ns, found.cpus) == (5, 2)
    assert (found.used, found.interrupts, found.stolen) == (60, 13, 8)
    assert found.passed == 10 + 20 + 30 + 400 + 5 + 6 + 7 + 8
    assert (found.swapped_in_pages, found.load_1min) == (42, 1.25)


def test_a_name_may_hold_brackets_and_the_kernels_own_threads_are_known(proc):
    tasks = counters(5, proc).tasks

    assert tasks[10, 500].name == "odd) name (x"
    assert (tasks[10, 500].ticks, tasks[10, 500].major_faults) == (99, 7)
    assert tasks[10, 500].reaped == 7
    assert [task.is_kernel for task in tasks.values()].count(True) == 1
    assert set(tasks) == {(10, 500), (11, 500)}


def task(parent: int, group: int = 0, session: int = 0) -> Task:
    return Task(parent, group, session, "x", is_kernel=False, ticks=0, reaped=0, major_faults=0)


def of(tasks: dict[int, Task]) -> Counters:
    return Counters(
        at_ns=0,
        cpus=1,
        used=0,
        interrupts=0,
        stolen=0,
        passed=0,
        swapped_in_pages=0,
        load_1min=0.0,
        tasks={(pid, 1): each for pid, each in tasks.items()},
    )


def test_kin_are_descendants_groups_and_sessions_but_not_parents():
    found = of(
        {
            1: task(0),
            5: task(1),
            6: task(5),
            7: task(6),
            8: task(1, group=5),
            9: task(1, session=5),
            10: task(1),
        }
    ).kin([5])

    assert {pid for pid, _ in found} == {5, 6, 7, 8, 9}


def test_a_ring_of_parents_ends():
    assert of({5: task(6), 6: task(5)}).kin([9]) == frozenset()


@pytest.mark.e2e
def test_a_real_child_is_kin_and_its_parents_are_not():
    with subprocess.Popen(
        [sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE
    ) as child:
        found = {pid for pid, _ in counters(0).kin([os.getpid()])}
        child.stdin.close()

    assert {os.getpid(), child.pid} <= found
    assert os.getppid() not in found
