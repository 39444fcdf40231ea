"""What the vendors' tools print, over their releases."""

from __future__ import annotations

import json

import pytest

from flows.control.host import Here
from flows.machine import amd, nvidia
from flows.machine.found import FoundMachine
from flows.machine.look import found_machine
from tests.flows.machine.scenes import scene

SCENES = (
    *("a100-pcie-470", "h100-sxm-535", "a100-mig-550", "l4-550", "h200-580"),
    *("mi300x-rocm62", "mi300x-rocm70"),
)
EIGHT = """\
\t\x1b[4mGPU0\tGPU1\tGPU2\tmlx5_0\tCPU Affinity\x1b[0m
GPU0\t X \tNV12\tSYS\tPXB\t0-31
GPU1\tNV12\t X \tPHB\tSYS\t0-31
GPU2\tSYS\tPHB\t X \tSYS\t32-63
mlx5_0\tPXB\tSYS\tSYS\t X \t
"""


@pytest.mark.parametrize(
    ("name", "driver", "cuda", "models", "figures"),
    [
        ("a100-pcie-470", "470.256.02", "11.4", ["NVIDIA A100-PCIE-40GB"], (40536, 250.0)),
        ("h100-sxm-535", "535.183.01", "12.2", ["NVIDIA H100 80GB HBM3"] * 2, (81559, 700.0)),
        ("l4-550", "550.127.05", "12.4", ["NVIDIA L4"], (23034, 72.0)),
        ("h200-580", "580.95.05", "13.0", ["NVIDIA H200"], (143771, 700.0)),
        ("mi300x-rocm62", "6.8.5", None, ["AMD Instinct MI300X"], (196592, 750.0)),
        ("mi300x-rocm70", "6.14.14", None, ["AMD Instinct MI300X OAM"], (196592, 750.0)),
    ],
)
def test_each_release_tells_the_same_things(name, driver, cuda, models, figures):
    found = scene(name)

    assert (found.driver, found.cuda, found.why_none) == (driver, cuda, "")
    assert [each.name for each in found.devices] == models
    assert {(each.memory_mib, each.power_limit_w) for each in found.devices} == {figures}


def test_slices_are_found_with_their_sizes():
    (device,) = scene("a100-mig-550").devices

    assert (device.mig, device.slices) == (True, (40192, 40192))


def test_mig_that_a_device_does_not_have_is_neither_on_nor_off():
    assert scene("l4-550").devices[0].mig is None
    assert scene("h100-sxm-535").devices[0].mig is False


def test_state_is_told_device_by_device():
    (device,) = scene("l4-550").devices

    assert device.processes == (4711,)
    assert (device.pcie_width, device.pcie_width_most) == (8, 16)
    assert (device.ecc, device.ecc_pending) == (True, True)
    assert (device.remapped_rows, device.is_remapping_pending) == (0, False)
    assert device.fabric is None
    assert scene("h200-580").devices[0].fabric == "In Progress"


@pytest.mark.parametrize("name", SCENES)
def test_a_machine_comes_home_from_another_host_as_it_was(name):
    found = scene(name)

    assert FoundMachine.of(json.loads(json.dumps(found.to_json()))) == found


def test_links_are_those_of_each_pair_of_devices_once():
    assert nvidia.links_of(EIGHT) == {(0, 1): "NV12", (0, 2): "SYS", (1, 2): "PHB"}
    assert scene("h100-sxm-535").links == {(0, 1): "NV18"}
    assert nvidia.links_of("Failed to run topology matrix") == {}


@pytest.mark.parametrize(
    "text",
    [
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.",
        "Failed to initialize NVML: Insufficient Permissions",
        "<?xml version='1.0' ?><nvidia_smi_log><gpu>",
        "",
    ],
)
def test_a_driver_that_does_not_answer_is_no_device_with_its_reason(text):
    found = nvidia.machine_of(text)

    assert found.devices == ()
    assert found.why_none


def test_a_warning_before_the_document_is_no_fault():
    text = "WARNING: infoROM is corrupted at gpu 0000:1B:00.0\n<?xml version='1.0' ?>"
    found = nvidia.machine_of(f"{text}<nvidia_smi_log><gpu/></nvidia_smi_log>")

    (device,) = found.devices
    assert device.name == "unknown"
    assert {device.memory_mib, device.mig, device.uuid, device.pcie_gen} == {None}


def test_an_amd_guest_that_tells_little_is_read_as_far_as_it_goes():
    found = amd.machine_of('[{"gpu": 0, "asic": {"market_name": "N/A"}, "vram": "N/A"}]')

    assert found.devices[0].memory_mib is None
    assert amd.machine_of("AmdSmiLibraryException").why_none == "AmdSmiLibraryException"


def test_the_tool_that_is_there_is_asked(smi):
    smi.put("systemctl", "echo active")
    both = found_machine(Here())
    smi.put("nvidia-smi", "exit 127")
    smi.is_of("mi300x-rocm70")
    one = found_machine(Here())
    smi.put("amd-smi", "exit 127")

    assert (both.vendor, both.fabric_manager, len(both.devices)) == ("nvidia", "active", 2)
    assert one.vendor == "amd"
    assert found_machine(Here()).why_none == "neither nvidia-smi nor amd-smi is there"
