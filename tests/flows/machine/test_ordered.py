from __future__ import annotations

from dataclasses import replace

import pytest

from flows.machine.found import FoundDevice, FoundMachine
from flows.machine.ordered import Ordered, differences
from tests.flows.machine.scenes import scene


@pytest.fixture
def said(devices):
    def said(device, found, **more):
        found = scene(found) if isinstance(found, str) else found
        asked = Ordered(device=devices[device], **{"count": len(found.devices), **more})
        return [(each.severity, each.what) for each in differences(asked, found)]

    return said


@pytest.mark.parametrize(
    ("device", "found"),
    [
        ("nvidia-a100-40gb-pcie", "a100-pcie-470"),
        ("nvidia-h100-80gb-sxm5", "h100-sxm-535"),
        ("amd-mi300x", "mi300x-rocm62"),
    ],
)
def test_the_machine_that_was_ordered_has_no_differences(said, device, found):
    assert said(device, found) == []


@pytest.mark.parametrize(
    ("device", "found", "what"),
    [
        ("nvidia-a10g", "l4-550", "device"),
        ("nvidia-h100-80gb-pcie", "h100-sxm-535", "device"),
        ("nvidia-a100-80gb-pcie", "a100-pcie-470", "device memory"),
        ("amd-mi325x", "mi300x-rocm62", "device"),
    ],
)
def test_another_device_voids(said, device, found, what):
    assert ("void", what) in said(device, found)


@pytest.mark.parametrize(
    ("device", "name"),
    [
        ("nvidia-rtx-4090", "NVIDIA GeForce RTX 4090 D"),
        ("nvidia-rtx-4090", "NVIDIA GeForce RTX 4090 Laptop GPU"),
        ("nvidia-rtx-5090", "NVIDIA GeForce RTX 5090 Ti"),
        ("nvidia-a100-40gb-pcie", "GRID A100-40C"),
        ("nvidia-l40s", "NVIDIA L40S-48C"),
    ],
)
def test_a_sister_model_and_a_share_of_the_device_void(said, devices, device, name):
    """They have the same words and one more, and may have the same memory."""
    memory_mib = round(devices[device].memory.value / 2**20)
    found = FoundMachine(devices=(FoundDevice(index=0, name=name, memory_mib=memory_mib),))

    assert ("void", "device") in said(device, found)


def test_a_slice_voids_whatever_its_device(said, devices):
    assert said("nvidia-a100-80gb-sxm4", "a100-mig-550") == [("void", "device memory")]

    asked = Ordered(device=devices["nvidia-a100-80gb-sxm4"])
    (finding,) = differences(asked, scene("a100-mig-550"))
    assert str(finding) == (
        "device memory: shared out in slices: 40,192 MiB, 40,192 MiB; "
        "ordered: whole devices (void)"
    )


def test_too_few_devices_void_and_more_are_said(said):
    assert said("nvidia-h100-80gb-sxm5", "h100-sxm-535", count=4) == [
        ("void", "number of devices")
    ]
    assert said("nvidia-h100-80gb-sxm5", "h100-sxm-535", count=1) == [
        ("note", "number of devices")
    ]


@pytest.mark.parametrize(
    ("minimum", "expected"),
    [
        ("525.60.13", []),
        ("535.183.01", []),
        ("580.65.06", [("waiver", "driver")]),
    ],
)
def test_an_older_driver_needs_a_waiver(said, minimum, expected):
    assert said("nvidia-h100-80gb-sxm5", "h100-sxm-535", minimum_driver=minimum) == expected


def test_a_driver_that_is_not_told_is_said(said):
    untold = replace(scene("h100-sxm-535"), driver=None, cuda=None)

    assert said(
        "nvidia-h100-80gb-sxm5", untold, minimum_driver="525.60", minimum_cuda="12.0"
    ) == [("note", "driver"), ("note", "CUDA")]


def test_devices_that_work_as_one_need_the_links_of_their_kind(said):
    bridged = scene("h100-sxm-535")
    apart = replace(bridged, links={(0, 1): "SYS"})

    assert said("nvidia-h100-80gb-sxm5", bridged, ranks=2) == []
    assert said("nvidia-h100-80gb-sxm5", apart, ranks=2) == [("waiver", "links")]
    assert said("nvidia-h100-80gb-sxm5", apart, ranks=1) == []
    assert said("nvidia-h100-80gb-sxm5", replace(bridged, links={}), ranks=2) == [
        ("note", "links")
    ]


def test_a_fabric_that_is_not_set_up_is_found_before_the_load(said):
    assert said("nvidia-h200-141gb-sxm", "h200-580") == [("waiver", "fabric")]


@pytest.mark.parametrize(("state", "found"), [("active", 0), ("inactive", 1), (None, 1)])
def test_eight_linked_devices_without_a_state_of_their_own_need_the_manager(
    devices, state, found
):
    one = replace(scene("a100-mig-550").devices[0], mig=False, slices=())
    links = {(a, b): "NV12" for a in range(8) for b in range(a + 1, 8)}
    eight = FoundMachine(
        devices=tuple(replace(one, index=n) for n in range(8)),
        links=links,
        fabric_manager=state,
    )
    asked = Ordered(device=devices["nvidia-a100-80gb-sxm4"], count=8, ranks=8)

    assert len(differences(asked, eight)) == found


def test_others_on_the_device_need_a_waiver_and_fewer_lanes_are_said(said):
    assert said("nvidia-l4", "l4-550") == [
        ("waiver", "GPU 0, processes"),
        ("note", "GPU 0, PCIe"),
    ]


def test_memory_rows_that_wait_for_a_reset_need_a_waiver(said):
    found = scene("h100-sxm-535")
    first = replace(found.devices[0], is_remapping_pending=True, ecc_pending=False)

    assert said("nvidia-h100-80gb-sxm5", replace(found, devices=(first, found.devices[1]))) == [
        ("waiver", "GPU 0, memory rows"),
        ("note", "GPU 0, ECC"),
    ]


def test_what_cannot_be_seen_is_not_what_was_ordered(said):
    blind = FoundMachine(why_none="Failed to initialize NVML: Insufficient Permissions")

    assert said("nvidia-l4", blind, count=1) == [("waiver", "device")]


def test_a_machine_of_processors_alone_is_not_asked_for_devices(said):
    assert said("intel-xeon-8480plus-2s", FoundMachine(why_none="none"), count=1) == []
