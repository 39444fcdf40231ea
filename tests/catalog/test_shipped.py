"""What the shipped catalog must hold: the lesson's figures to the digit, and honest sources."""

from __future__ import annotations

import datetime as dt

import pytest

from catalog.load import load_catalog
from catalog.quantity import Basis, Quantity
from deploy_templates.registry import load_runtimes

CATALOG = load_catalog()
SNAPSHOT = dt.date(2026, 8, 22)
DEVICES = [
    *("nvidia-a100-80gb-sxm4", "nvidia-a100-80gb-pcie", "nvidia-l4"),
    *("intel-xeon-8480plus-2s", "amd-epyc-9654-2s"),
    *("nvidia-a100-40gb-sxm4", "nvidia-a100-40gb-pcie", "nvidia-a10g", "nvidia-t4"),
    *("nvidia-l40s", "nvidia-h100-80gb-sxm5", "nvidia-h100-80gb-pcie", "nvidia-h100-94gb-nvl"),
    *("nvidia-h200-141gb-sxm", "nvidia-b200-180gb-sxm", "nvidia-rtx-4090"),
    *("nvidia-rtx-6000-ada", "nvidia-rtx-pro-6000-server"),
    *("amd-mi300x", "amd-mi325x", "amd-mi355x", "intel-gaudi3"),
    *("intel-xeon-6980p-2s", "amd-epyc-9755-2s", "nvidia-grace", "aws-graviton4-2s"),
    *("apple-m2-ultra", "apple-m3-ultra", "apple-m4-max"),
]
UNSURE = [
    ("nvidia-rtx-4090", "compute.fp8"),
    ("nvidia-rtx-4090", "power"),
    ("nvidia-rtx-6000-ada", "compute.fp8"),
    ("nvidia-h100-94gb-nvl", "memory_bandwidth"),
    ("nvidia-h100-94gb-nvl", "compute.bf16"),
    ("amd-mi355x", "compute.bf16"),
    ("amd-mi355x", "compute.fp4"),
    ("amd-epyc-9654-2s", "compute.bf16"),
    ("amd-epyc-9755-2s", "power"),
    ("aws-graviton4-2s", "memory_bandwidth"),
    ("nvidia-grace", "memory_bandwidth"),
    ("apple-m3-ultra", "memory_bandwidth"),
]


def fact(device: str, path: str) -> Quantity:
    here: object = CATALOG.device(device)
    for step in path.split("."):
        here = here[step] if isinstance(here, dict) else getattr(here, step)
    assert isinstance(here, Quantity)
    return here


@pytest.mark.parametrize("name", DEVICES)
def test_every_device_that_teams_choose_from_is_there(name: str) -> None:
    assert CATALOG.device(name).name == name


@pytest.mark.parametrize(
    ("device", "path", "value"),
    [
        ("intel-xeon-8480plus-2s", "memory_bandwidth", 614.4e9),
        ("intel-xeon-8480plus-2s", "achieved.bandwidth", 380e9),
        ("intel-xeon-8480plus-2s", "achieved.compute.bf16", 75e12),
        ("intel-xeon-8480plus-2s", "achieved.workspace", 4 * 2**30),
        ("intel-xeon-8480plus-2s", "on_chip_cache", 434 * 2**20),
        ("nvidia-a100-80gb-sxm4", "memory", 81920 * 2**20),
        ("nvidia-a100-80gb-sxm4", "memory_bandwidth", 2039e9),
        ("nvidia-a100-80gb-sxm4", "compute.bf16", 312e12),
        ("nvidia-a100-80gb-sxm4", "achieved.bandwidth", 1550e9),
        ("nvidia-a100-80gb-sxm4", "achieved.compute.bf16", 200e12),
        ("nvidia-a100-80gb-sxm4", "achieved.workspace", 3.5 * 2**30),
        ("nvidia-a100-80gb-sxm4", "on_chip_cache", 40 * 2**20),
        ("nvidia-l4", "memory", 23034 * 2**20),
        ("nvidia-l4", "memory_bandwidth", 300e9),
        ("nvidia-l4", "compute.bf16", 121e12),
        ("nvidia-l4", "achieved.bandwidth", 240e9),
        ("nvidia-l4", "achieved.compute.bf16", 75e12),
        ("nvidia-l4", "on_chip_cache", 48 * 2**20),
        ("nvidia-a100-80gb-pcie", "memory_bandwidth", 1935e9),
        ("nvidia-a100-80gb-pcie", "achieved.bandwidth", 1500e9),
        ("nvidia-a100-80gb-pcie", "achieved.compute.bf16", 200e12),
        ("amd-epyc-9654-2s", "memory_bandwidth", 921.6e9),
        ("amd-epyc-9654-2s", "achieved.bandwidth", 580e9),
        ("amd-epyc-9654-2s", "achieved.compute.bf16", 45e12),
        ("nvidia-h100-80gb-sxm5", "memory", 81559 * 2**20),
        ("nvidia-h100-80gb-sxm5", "maximum_clock", 1.98e9),
        ("nvidia-h200-141gb-sxm", "memory", 143771 * 2**20),
        ("nvidia-l40s", "memory", 46068 * 2**20),
        ("nvidia-a10g", "compute.bf16", 70e12),
        ("amd-mi325x", "memory", 256 * 2**30),
    ],
)
def test_a_fact_is_what_its_source_says(device: str, path: str, value: float) -> None:
    assert fact(device, path).value == value


@pytest.mark.parametrize(("device", "path"), UNSURE)
def test_what_is_unsure_is_marked_unverified(device: str, path: str) -> None:
    assert not fact(device, path).is_verified


@pytest.mark.parametrize(
    "device", ["nvidia-a100-80gb-sxm4", "nvidia-l4", "intel-xeon-8480plus-2s"]
)
@pytest.mark.parametrize("path", ["memory_bandwidth", "on_chip_cache", "compute.bf16"])
def test_what_the_lessons_rejections_rest_on_is_verified(device: str, path: str) -> None:
    assert fact(device, path).is_verified


def test_every_achieved_rate_is_an_assumption() -> None:
    rates = [
        rate
        for device in CATALOG.devices.values()
        for rate in (device.achieved.bandwidth, *device.achieved.compute.values())
        if rate is not None
    ]

    assert {rate.basis for rate in rates} == {Basis.ASSUMPTION}


@pytest.mark.parametrize(
    ("link", "per_direction"),
    [
        *(("nvlink2", 150e9), ("nvlink3", 300e9), ("nvlink4", 450e9), ("nvlink5", 900e9)),
        *(("pcie3-x16", 15.75e9), ("pcie4-x16", 31.5e9), ("pcie5-x16", 63e9)),
        *(("infinity-fabric-mi300", 448e9), ("upi2", 192e9), ("xgmi3", 256e9)),
    ],
)
def test_links_carry_the_bandwidth_of_one_direction(link: str, per_direction: float) -> None:
    assert CATALOG.link(link).per_direction.value == per_direction


def test_the_three_measured_rows_are_the_assumptions_of_their_links() -> None:
    rows = {
        (name, row.devices): (row.alpha.value, row.bandwidth.value)
        for name in ("nvlink3", "pcie4-x16")
        for row in CATALOG.link(name).effective
    }

    assert rows == {
        ("nvlink3", 2): (5e-6, 207e9),
        ("pcie4-x16", 2): (15e-6, 19.2e9),
        ("pcie4-x16", 8): (280e-6, 1.47e9),
    }


@pytest.mark.parametrize(
    ("link", "alpha", "bandwidth"), [("nvlink3", 5e-6, 600e9), ("pcie4-x16", 15e-6, 64e9)]
)
def test_the_lessons_link_figures_are_kept_beside(
    link: str, alpha: float, bandwidth: float
) -> None:
    lesson = CATALOG.link(link).lesson

    assert lesson is not None
    assert (lesson.alpha.value, lesson.bandwidth.value) == (alpha, bandwidth)


def test_aws_sells_eighty_gigabyte_a100s_by_eight_only() -> None:
    offers = [
        (name, offer.device_count, offer.sold_as, str(offer.price))
        for name, offer in CATALOG.offers.items()
        if name.startswith("aws/") and offer.device.startswith("nvidia-a100-80gb")
    ]

    assert offers == [("aws/p4de.24xlarge", 8, "instance", "$27.4/h")]


def test_a_price_that_the_source_leaves_blank_is_unknown() -> None:
    assert CATALOG.offer("aws/p5e.48xlarge").price is None


def test_at_least_four_clouds_have_a_price_that_was_read() -> None:
    priced = {
        name.partition("/")[0]
        for name, offer in CATALOG.offers.items()
        if offer.price is not None and offer.price.is_verified
    }

    assert priced == {"aws", "gcp", "lambda", "nebius", "runpod", "verda"}


def test_no_price_is_younger_than_its_snapshot_and_none_without_a_date() -> None:
    dates = [offer.date for offer in CATALOG.offers.values() if offer.price is not None]

    assert all(date is not None and date <= SNAPSHOT for date in dates)


def test_no_shipped_offer_is_owned_hardware() -> None:
    assert [name for name, offer in CATALOG.offers.items() if offer.owned] == []


def test_every_link_of_several_devices_is_stated() -> None:
    missing = [
        name
        for name, offer in CATALOG.offers.items()
        if offer.device_count > 1 and offer.link is None
    ]

    assert missing == []


def test_the_rehearsal_engine_serves_every_model_of_the_catalog() -> None:
    families = {model.config["model_type"] for model in CATALOG.models.values()}
    served = {family.family for family in load_runtimes()["rehearsal"].families}

    assert families <= served


def test_every_device_class_has_a_runtime() -> None:
    classes = {device.device_class for device in CATALOG.devices.values()}
    served = {
        support.device_class
        for runtime in load_runtimes().values()
        if not runtime.simulation
        for support in runtime.devices
    }

    assert classes <= served


@pytest.mark.parametrize("name", sorted(CATALOG.devices))
def test_a_device_with_a_peak_for_bf16_lists_that_of_8_bit_integers_where_it_has_one(
    name: str,
) -> None:
    device = CATALOG.device(name)
    multiplies_bytes = device.device_class in ("cuda", "rocm", "cpu-x86", "intel-gpu", "tpu")

    assert not (multiplies_bytes and "bf16" in device.compute) or "int8" in device.compute
