from __future__ import annotations

import pytest

from flows.system.groups import cgroup_cpus, cgroup_memory_bytes
from flows.system.texts import Texts

GROUPS = "sys/fs/cgroup"


def test_the_tightest_group_of_version_2_on_the_way_up_limits(planted):
    texts = planted(
        {
            "proc/self/cgroup": "0::/a/b",
            f"{GROUPS}/a/b/cpu.max": "max 100000",
            f"{GROUPS}/a/cpu.max": "150000 100000",
            f"{GROUPS}/a/b/memory.max": "4096",
            f"{GROUPS}/a/memory.max": "8192",
        }
    )

    assert cgroup_cpus(texts) == 1.5
    assert cgroup_memory_bytes(texts) == 4096


def test_a_container_that_sees_its_group_as_the_root_is_limited_by_it(planted):
    texts = planted(
        {
            "proc/self/cgroup": "0::/",
            f"{GROUPS}/cpu.max": "200000 100000",
            f"{GROUPS}/memory.max": "max",
        }
    )

    assert cgroup_cpus(texts) == 2.0
    assert cgroup_memory_bytes(texts) is None


def test_limits_of_version_1_are_read_and_its_no_limit_is_none(planted):
    texts = planted(
        {
            "proc/self/cgroup": "4:memory:/m\n3:cpu,cpuacct:/c\n1:name=systemd:/\n0::/",
            f"{GROUPS}/cpu/c/cpu.cfs_quota_us": "50000",
            f"{GROUPS}/cpu/c/cpu.cfs_period_us": "100000",
            f"{GROUPS}/cpu/cpu.cfs_quota_us": "-1",
            f"{GROUPS}/cpu/cpu.cfs_period_us": "100000",
            f"{GROUPS}/memory/m/memory.limit_in_bytes": "1073741824",
            f"{GROUPS}/memory/memory.limit_in_bytes": "9223372036854771712",
        }
    )

    assert cgroup_cpus(texts) == 0.5
    assert cgroup_memory_bytes(texts) == 2**30


@pytest.mark.parametrize("limit", [cgroup_cpus, cgroup_memory_bytes])
def test_a_host_without_groups_has_no_limit(tmp_path, limit):
    assert limit(Texts(tmp_path)) is None
