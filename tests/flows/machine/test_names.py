from __future__ import annotations

import pytest

from flows.machine.names import form_of, model_of

# as drivers report them
REPORTED = {
    "nvidia-a100-40gb-pcie": ["NVIDIA A100-PCIE-40GB", "A100-PCIE-40GB"],
    "nvidia-a100-40gb-sxm4": ["NVIDIA A100-SXM4-40GB"],
    "nvidia-a100-80gb-pcie": ["NVIDIA A100 80GB PCIe"],
    "nvidia-a100-80gb-sxm4": ["NVIDIA A100-SXM4-80GB"],
    "nvidia-a10g": ["NVIDIA A10G"],
    "nvidia-a30": ["NVIDIA A30"],
    "nvidia-b200-180gb-sxm": ["NVIDIA B200"],
    "nvidia-b300-288gb-sxm": ["NVIDIA B300 SXM6 AC"],
    "nvidia-h100-80gb-pcie": ["NVIDIA H100 PCIe"],
    "nvidia-h100-80gb-sxm5": ["NVIDIA H100 80GB HBM3"],
    "nvidia-h100-94gb-nvl": ["NVIDIA H100 NVL"],
    "nvidia-h200-141gb-sxm": ["NVIDIA H200"],
    "nvidia-l4": ["NVIDIA L4"],
    "nvidia-l40s": ["NVIDIA L40S"],
    "nvidia-rtx-4090": ["NVIDIA GeForce RTX 4090"],
    "nvidia-rtx-5090": ["NVIDIA GeForce RTX 5090"],
    "nvidia-rtx-6000-ada": ["NVIDIA RTX 6000 Ada Generation"],
    "nvidia-rtx-a6000": ["NVIDIA RTX A6000"],
    "nvidia-rtx-pro-6000-server": ["NVIDIA RTX PRO 6000 Blackwell Server Edition"],
    "nvidia-t4": ["Tesla T4"],
    "nvidia-v100-16gb-sxm2": ["Tesla V100-SXM2-16GB"],
    "nvidia-v100-32gb-sxm2": ["Tesla V100-SXM2-32GB"],
    "amd-mi300x": ["AMD Instinct MI300X", "AMD Instinct MI300X OAM"],
    "amd-mi325x": ["AMD Instinct MI325X"],
    "amd-mi355x": ["AMD Instinct MI355X"],
}
PAIRS = [(name, reported) for name, names in REPORTED.items() for reported in names]


def test_every_accelerator_of_the_catalog_is_in_the_list(devices):
    known = {name for name, each in devices.items() if each.device_class in ("cuda", "rocm")}

    assert known - {"nvidia-grace"} == set(REPORTED)


@pytest.mark.parametrize(("name", "reported"), PAIRS)
def test_a_drivers_name_is_known_for_the_device_that_it_is(devices, name, reported):
    title = devices[name].title

    assert model_of(reported) == model_of(title)
    assert form_of(reported) in (form_of(title), "OAM")


@pytest.mark.parametrize(("name", "reported"), PAIRS)
def test_and_for_no_other(devices, name, reported):
    """Two sizes of one card are told apart by their memory."""

    def kind(title: str) -> tuple[frozenset[str], str | None]:
        return model_of(title), form_of(title)

    others = {
        other
        for other in REPORTED
        if model_of(devices[other].title) <= model_of(reported)
        and form_of(devices[other].title) in (None, form_of(reported))
    }

    assert {kind(devices[other].title) for other in others} == {kind(devices[name].title)}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("NVIDIA L40", "NVIDIA L40S"),
        ("NVIDIA A10", "NVIDIA A10G"),
        ("NVIDIA RTX 6000 Ada Generation", "NVIDIA RTX A6000"),
        ("NVIDIA H200 NVL", "NVIDIA H200"),
        ("NVIDIA GeForce RTX 4090", "NVIDIA GeForce RTX 4090 D"),
    ],
)
def test_names_that_look_alike_are_told_apart(one, other):
    assert (model_of(one), form_of(one)) != (model_of(other), form_of(other))
