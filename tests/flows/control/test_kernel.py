from __future__ import annotations

import os

import pytest

from deploy_templates.control import CpuControl, cpu_steps, numa_prefix
from flows.control.apply import controlled
from flows.control.host import Here, Ran

ALL = CpuControl(
    governor="performance", turbo="off", smt="off", huge_pages="never", numa_balancing="off"
)


def hold(machine, tmp_path, asked=ALL):
    return controlled(machine, cpu_steps(asked), str(tmp_path / "state"), dead_man=None)


def texts(tree):
    return {
        str(path.relative_to(tree)): path.read_text().strip()
        for path in sorted(tree.rglob("*"))
        if path.is_file()
    }


def test_the_kernels_settings_are_made_and_put_back(machine, tree, tmp_path):
    before = texts(tree)
    with hold(machine, tmp_path) as control:
        inside = texts(tree)

    cpus = "sys/devices/system/cpu"
    assert inside == {
        **before,
        f"{cpus}/cpu0/cpufreq/scaling_governor": "performance",
        f"{cpus}/cpu1/cpufreq/scaling_governor": "performance",
        f"{cpus}/intel_pstate/no_turbo": "1",
        f"{cpus}/smt/control": "off",
        "sys/kernel/mm/transparent_hugepage/enabled": "never",
        "proc/sys/kernel/numa_balancing": "0",
    }
    assert {each.status for each in control.outcomes} == {"applied"}
    after = texts(tree)
    assert after.pop("sys/kernel/mm/transparent_hugepage/enabled") == "madvise"
    before.pop("sys/kernel/mm/transparent_hugepage/enabled")
    assert after == before


def test_cpus_that_differ_get_back_what_each_had(machine, tree, tmp_path):
    path = tree / "sys/devices/system/cpu/cpu1/cpufreq/scaling_governor"
    path.write_text("schedutil\n")
    with hold(machine, tmp_path, CpuControl(governor="performance", swap=None)) as control:
        assert path.read_text() == "performance"

    assert path.read_text() == "schedutil"
    assert sorted(each.before for each in control.outcomes) == ["powersave", "schedutil"]
    assert [each.restored for each in control.outcomes] == [True, True]


def test_boost_stands_in_where_the_kernel_has_no_turbo_file(machine, tree, tmp_path):
    (tree / "sys/devices/system/cpu/intel_pstate/no_turbo").unlink()
    boost = tree / "sys/devices/system/cpu/cpufreq/boost"
    boost.parent.mkdir()
    boost.write_text("1\n")
    with hold(machine, tmp_path):
        assert boost.read_text() == "0"

    assert boost.read_text() == "1"


def test_a_guest_without_the_files_has_no_such_settings(tmp_path, machine, tree):
    for path in sorted(tree.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    with hold(machine, tmp_path) as control:
        pass

    assert {each.name: each.status for each in control.outcomes} == {
        "governor": "unavailable",
        "turbo": "unavailable",
        "smt": "unavailable",
        "huge_pages": "unavailable",
        "numa_balancing": "unavailable",
        "swap": "applied",
    }


def test_smt_that_the_processor_lacks_is_unavailable(machine, tree, tmp_path):
    (tree / "sys/devices/system/cpu/smt/control").write_text("notsupported\n")
    with hold(machine, tmp_path, CpuControl(governor=None, smt="off", swap=None)) as control:
        pass

    assert [each.status for each in control.outcomes] == ["unavailable"]


@pytest.mark.skipif(os.geteuid() == 0, reason="an administrator may write every file")
def test_files_that_are_not_ours_to_write_are_a_threat(machine, tree, tmp_path):
    path = tree / "sys/devices/system/cpu/intel_pstate/no_turbo"
    path.chmod(0o444)
    with hold(machine, tmp_path, CpuControl(governor=None, turbo="off", swap=None)) as control:
        pass

    assert [each.status for each in control.outcomes] == ["not permitted"]


class HalfWritable(Here):
    """A machine that refuses the last of several files."""

    def run(self, argv):
        if "performance" not in argv:
            return Here.run(self, argv)
        Here.run(self, argv[:-1])
        return Ran(2, f"sh: cannot create {argv[-1]}: Permission denied")


def test_files_that_were_written_before_one_was_refused_are_put_back(tree, tmp_path):
    asked = CpuControl(governor="performance", swap=None)
    with hold(HalfWritable(root=tree), tmp_path, asked) as control:
        inside = texts(tree)

    governors = [text for path, text in inside.items() if path.endswith("governor")]
    assert sorted(governors) == ["performance", "powersave"]
    assert {text for path, text in texts(tree).items() if path.endswith("governor")} == {
        "powersave"
    }
    (outcome,) = control.outcomes
    assert (outcome.status, outcome.restored) == ("not permitted", True)


class Deaf(Here):
    """A machine whose kernel takes every value and keeps none."""

    def run(self, argv):
        return Ran(0, "") if argv[0] == "sh" else Here.run(self, argv)


def test_a_value_that_the_kernel_does_not_keep_is_not_held(tree, tmp_path):
    asked = CpuControl(governor=None, smt="off", swap=None)
    with hold(Deaf(root=tree), tmp_path, asked) as control:
        pass

    (outcome,) = control.outcomes
    assert (outcome.status, outcome.said) == ("not held", "it reads on")


def test_idle_swap_is_taken_off_and_put_back(machine, tree, tmp_path, smi):
    table = tree / "proc/swaps"
    head, line = "Filename\tType\tSize\tUsed\tPriority\n", "/dev/vdb\tpartition\t9\t0\t5\n"
    table.write_text(head + line)
    smi.put("swapoff", f"printf '{head}' >'{table}'; echo off $* >>'{tmp_path}/swap'")
    smi.put("swapon", f"printf '{head}{line}' >'{table}'; echo on $* >>'{tmp_path}/swap'")
    with hold(machine, tmp_path, CpuControl(governor=None)) as control:
        pass

    assert [(each.status, each.restored) for each in control.outcomes] == [("applied", True)]
    assert (tmp_path / "swap").read_text() == "off /dev/vdb\non -p 5 /dev/vdb\n"


def test_swap_that_is_in_use_stays(machine, tree, tmp_path):
    (tree / "proc/swaps").write_text("Filename\n/swapfile file 2097148 51200 -2\n")
    with hold(machine, tmp_path, CpuControl(governor=None)) as control:
        pass

    (outcome,) = control.outcomes
    assert (outcome.status, outcome.said) == ("refused", "50 MiB of it are in use")


def test_a_server_is_bound_to_memory_nodes_where_numactl_is():
    assert numa_prefix((1, 0), has_numactl=True) == (
        *("numactl", "--cpunodebind=0,1", "--membind=0,1"),
    )
    assert numa_prefix((0,), has_numactl=False) == ()
    assert numa_prefix((), has_numactl=True) == ()
