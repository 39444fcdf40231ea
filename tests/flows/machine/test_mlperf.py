from __future__ import annotations

import datetime as dt

from flows.control.host import Here
from flows.machine.around import around
from flows.machine.found import FoundMachine
from flows.machine.mlperf import FIELDS, system_description
from flows.system.here import facts_here
from tests.flows.control.conftest import plant
from tests.flows.machine.scenes import scene


def described(tmp_path, found):
    system = facts_here("local", dt.datetime(2026, 8, 22, tzinfo=dt.UTC)).to_json()
    return system_description(
        system, around(Here(root=tmp_path)), found, framework="vllm 0.33.0"
    )


def test_a_description_has_every_field_that_is_asked_for(tmp_path):
    found = described(tmp_path, scene("h100-sxm-535"))

    assert len(FIELDS) == 35
    assert set(found) == set(FIELDS)
    assert found["accelerators_per_node"] == 2
    assert found["accelerator_model_name"] == "NVIDIA H100 80GB HBM3"
    assert found["accelerator_memory_capacity"] == "81559 MiB"
    assert found["accelerator_host_interconnect"] == "PCIe Gen5 x16"
    assert found["accelerator_interconnect_topology"] == "1 pairs NV18"
    assert "driver 535.183.01, CUDA 12.2" in found["other_software_stack"]
    assert found["framework"] == "vllm 0.33.0"


def test_what_only_a_person_knows_is_null(tmp_path):
    found = described(tmp_path, FoundMachine(why_none="none"))

    assert {found[name] for name in ("division", "submitter", "status", "cooling")} == {None}
    assert found["accelerators_per_node"] is None


def test_disks_cards_and_firmware_are_read_from_the_kernel(tmp_path):
    plant(tmp_path / "sys/block/nvme0n1/size", "1000215216\n")
    plant(tmp_path / "sys/block/sda/size", "2000\n")
    plant(tmp_path / "sys/block/sda/queue/rotational", "1\n")
    plant(tmp_path / "sys/block/loop0/size", "8\n")
    plant(tmp_path / "sys/class/net/eth0/device/vendor", "x")
    plant(tmp_path / "sys/class/net/eth0/speed", "25000\n")
    plant(tmp_path / "sys/class/net/lo/speed", "1\n")
    plant(tmp_path / "sys/class/dmi/id/bios_version", "1.2\n")

    assert around(Here(root=tmp_path)) == {
        "disk_bytes": 1000217216 * 512,
        "disk_kinds": ["HDD", "NVMe SSD"],
        "network_cards": 1,
        "network_mbit": [25000],
        "bios": "1.2",
    }


def test_a_kernel_that_tells_nothing_gives_nulls(tmp_path):
    assert around(Here(root=tmp_path)) == {
        "disk_bytes": None,
        "disk_kinds": [],
        "network_cards": None,
        "network_mbit": [],
        "bios": None,
    }
