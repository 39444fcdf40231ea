from __future__ import annotations

import datetime as dt
import json
import os
import platform

from flows.system.here import facts_here
from flows.system.read import memory_of, system_facts
from flows.system.texts import Texts

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


def facts(texts: Texts):
    return system_facts(
        texts,
        "h",
        now=NOW,
        architecture="x86_64",
        allowed=[0],
        open_files=(1024, 4096),
        software={"python": "3.11.7"},
    )


def test_this_machine_is_described_in_strict_json():
    found = facts_here("local", NOW)

    written = json.loads(json.dumps(found.to_json(), allow_nan=False))

    assert written["schema_version"] == 1
    assert written["platform"]["kernel"] == platform.release()
    assert written["cpu"]["allowed"] == sorted(os.sched_getaffinity(0))
    assert written["memory"]["total_bytes"] > written["memory"]["available_bytes"] > 0
    assert set(written["software"]) == {"python", "runoff"}


def test_an_empty_host_is_unknown_in_every_fact_and_zero_in_none(tmp_path):
    written = facts(Texts(tmp_path)).to_json()

    assert written["memory"] == dict.fromkeys(
        ("total_bytes", "available_bytes", "swap_total_bytes", "huge_pages")
    )
    assert written["platform"] == {
        "architecture": "x86_64",
        "kernel": "unknown",
        **dict.fromkeys(("distribution", "clock_source", "is_virtual", "hypervisor")),
        **dict.fromkeys(("product", "is_container")),
    }
    assert written["bandwidth"] is None


def test_memory_is_in_bytes_and_a_machine_without_swap_has_zero(planted):
    texts = planted(
        {
            "proc/meminfo": "MemTotal: 2048 kB\nMemAvailable: 1024 kB\nSwapTotal: 0 kB\n"
            "HugePages_Total: 0",
            "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never",
        }
    )
    memory = memory_of(texts)

    assert (memory.total_bytes, memory.available_bytes) == (2048 * 1024, 1024 * 1024)
    assert memory.swap_total_bytes == 0
    assert memory.huge_pages == "madvise"


def test_usable_memory_is_the_hosts_or_the_groups_share(planted):
    texts = planted(
        {
            "proc/meminfo": "MemTotal: 2048 kB",
            "proc/self/cgroup": "0::/",
            "sys/fs/cgroup/memory.max": "4096",
        }
    )

    assert facts(texts).usable_memory_bytes == 4096


def test_a_guest_knows_that_it_is_one(planted):
    texts = planted(
        {
            "proc/cpuinfo": "processor : 0\nflags : fpu hypervisor",
            "sys/class/dmi/id/sys_vendor": "Amazon EC2",
            "sys/class/dmi/id/product_name": "p4de.24xlarge",
            "etc/os-release": 'NAME="x"\nPRETTY_NAME="Ubuntu 24.04 LTS"',
            ".dockerenv": "",
        }
    )
    told = facts(texts).platform

    assert told.is_virtual is True
    assert told.product == "Amazon EC2 p4de.24xlarge"
    assert told.distribution == "Ubuntu 24.04 LTS"
    assert told.is_container is True
