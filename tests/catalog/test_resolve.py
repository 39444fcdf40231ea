"""From names to facts: what is refused, what is taken from where, and what is noted."""

from __future__ import annotations

import json
import struct
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.load import load_catalog, shipped_catalog
from catalog.schema import Offer
from catalog.screen import Screen
from catalog.verdict import Verdict

Vote = Callable[..., Screen]
A100 = {"device": "nvidia-a100-80gb-sxm4"}


@pytest.fixture
def first(vote: Vote, canonical: dict[str, Any]) -> Callable[..., Verdict]:
    """The verdict on one candidate under the canonical contract."""

    def run(candidate: dict[str, Any], **more: Any) -> Verdict:
        return vote(canonical, candidate, **more).candidates[0]

    return run


@pytest.mark.parametrize(
    ("candidate", "message"),
    [
        ({"device": "nvidia-a100-80gb-sxm"}, "Did you mean 'nvidia-a100-80gb-sxm4'"),
        ({"offer": "aws/p4de.24xlrge"}, "Did you mean 'aws/p4de.24xlarge'"),
        (A100 | {"runtime": "vlm"}, "Did you mean 'vllm'"),
        (A100 | {"link": "nvlnk3"}, "Did you mean 'nvlink3'"),
        (A100 | {"precision": "bf17"}, "unknown name 'bf17'"),
        (A100 | {"kv_precision": "fp9"}, "unknown name 'fp9'"),
        (
            {"offer": "aws/p4de.24xlarge", "device": "nvidia-l4"},
            "sells 'nvidia-a100-80gb-sxm4', not 'nvidia-l4'",
        ),
        ({"offer": "aws/g6.xlarge", "replicas_per_host": 2}, "2 replicas want 2 devices"),
    ],
)
def test_a_name_or_number_that_cannot_be_is_an_error_that_helps(
    first: Callable[..., Verdict], candidate: dict[str, Any], message: str
) -> None:
    with pytest.raises(CatalogError, match=message):
        first(candidate)


def test_an_unknown_model_is_an_error_that_helps(vote: Vote, canonical: dict[str, Any]) -> None:
    with pytest.raises(CatalogError, match="Did you mean"):
        vote(canonical | {"model": "meta-llama/Meta-Llama-3-8B-Instrct"}, A100)


@pytest.mark.parametrize(
    "launch",
    [
        {"settings": {"gpu_memory_utilization": 0.98}},
        {"settings": {"gpu_memory_utilization": 1.0}},
        {"settings": {"mem_fraction_static": 0.99}},
        {"extra_args": ["--gpu-memory-utilization", "0.99"]},
        {"extra_args": ["--gpu-memory-utilization=1"]},
    ],
)
def test_memory_without_room_for_the_driver_is_refused_unless_accepted(
    first: Callable[..., Verdict], launch: dict[str, Any]
) -> None:
    with pytest.raises(CatalogError, match="i_accept_oom: true"):
        first(A100 | launch)

    assert first(A100 | launch, i_accept_oom=True).verdict == "pass"


@pytest.mark.parametrize("share", [0, 1.5, -0.1, "plenty"])
def test_a_utilisation_that_is_no_share_is_refused(
    first: Callable[..., Verdict], share: object
) -> None:
    with pytest.raises(CatalogError, match="gpu_memory_utilization"):
        first(A100 | {"settings": {"gpu_memory_utilization": share}}, i_accept_oom=True)


def test_the_stated_utilisation_sets_what_is_usable(first: Callable[..., Verdict]) -> None:
    gate = first(A100 | {"settings": {"gpu_memory_utilization": 0.5}}).gate("memory")

    usable = gate.details["usable"]
    assert not isinstance(usable, str)
    assert usable.value == 40


def test_an_offer_gives_device_price_link_and_how_it_is_sold(
    first: Callable[..., Verdict],
) -> None:
    candidate = {"offer": "aws/p4de.24xlarge", "device_count": 2, "tensor_parallel": 2}

    verdict = first(candidate)

    assert verdict.device == "nvidia-a100-80gb-sxm4"
    assert verdict.price_usd_per_hour == pytest.approx(27.44705)
    assert (verdict.sold_as, verdict.commitment) == ("instance", "on-demand")
    assert "the price is that of all 8 devices; 2 are used" in verdict.notes


def test_more_devices_than_one_host_has_are_not_modelled(first: Callable[..., Verdict]) -> None:
    verdict = first({"offer": "aws/p4de.24xlarge", "device_count": 16, "tensor_parallel": 16})

    assert verdict.verdict == "unknown"
    assert verdict.reason.startswith("unknown: not modelled: several hosts")


def test_an_assumption_above_the_peak_is_noted(first: Callable[..., Verdict]) -> None:
    verdict = first(A100 | {"assumptions": {"compute": "400 TFLOP/s"}})

    assert "the assumed 400 TFLOP/s is above the peak of 312 TFLOP/s" in verdict.notes


def test_a_version_that_is_not_pinned_is_the_newest_known_and_noted(
    first: Callable[..., Verdict],
) -> None:
    verdict = first(A100 | {"version": None})

    assert verdict.version is not None
    assert any(note.startswith("version not pinned: ") for note in verdict.notes)


def test_replicas_fill_the_devices_unless_stated(first: Callable[..., Verdict]) -> None:
    full = first(A100 | {"device_count": 8, "tensor_parallel": 2})
    stated = first(A100 | {"device_count": 8, "tensor_parallel": 2, "replicas_per_host": 1})

    assert (full.replicas_per_host, stated.replicas_per_host) == (4, 1)


def test_the_campaigns_assumptions_replace_the_catalogs(
    first: Callable[..., Verdict],
) -> None:
    stated = {"assumptions": {"bandwidth": "1 TB/s", "workspace": "1 GiB"}}

    inputs = {
        entry.name: entry.quantity
        for name in ("memory", "bandwidth")
        for entry in first(A100 | stated).gate(name).inputs
    }

    assert inputs["achieved_bandwidth"].value == 1e12
    assert inputs["achieved_bandwidth"].source == "stated in the campaign"
    assert inputs["workspace"].value == 2**30


def test_a_cpus_memory_is_that_of_its_host(
    first: Callable[..., Verdict], shipped: Catalog
) -> None:
    name, offer = next(
        (name, offer)
        for name, offer in shipped.offers.items()
        if shipped.device(offer.device).device_class == "cpu-x86" and offer.host.memory
    )

    verdict = first({"offer": name, "runtime": "vllm_cpu", "version": None})

    reported = next(
        e.quantity for e in verdict.gate("memory").inputs if e.name == "reported_memory"
    )
    assert offer.host.memory is not None
    assert reported.value == offer.host.memory.value


def test_an_hour_of_owned_hardware_is_capital_and_energy(
    first: Callable[..., Verdict], shipped: Catalog
) -> None:
    row = {
        "name": "box",
        "device": "nvidia-l4",
        "device_count": 1,
        "region": "cellar",
        "commitment": "owned",
        "sold_as": "instance",
        "source": "our ledger",
        "owned": {
            "capital": "$8766",
            "years": 2,
            "power": "500 W",
            "energy_price": "$0.20/kWh",
            "pue": 1.5,
            "utilisation": "50%",
        },
    }
    catalog = replace(shipped, offers={"cellar/box": Offer.model_validate(row)})

    verdict = first({"offer": "cellar/box"}, catalog=catalog)

    hours_in_use = 2 * 8766 * 0.5
    assert verdict.price_usd_per_hour == pytest.approx(8766 / hours_in_use + 0.5 * 1.5 * 0.20)
    assert verdict.commitment == "owned"


def test_an_entry_of_a_users_own_catalog_wins_and_is_noted_as_theirs(
    first: Callable[..., Verdict], tmp_path: Path
) -> None:
    ours = shipped_catalog() / "devices" / "nvidia-l4.yaml"
    text = ours.read_text().replace("300 GB/s", "3000 GB/s")
    (tmp_path / "devices").mkdir()
    (tmp_path / "devices" / "nvidia-l4.yaml").write_text(text)

    ours_says = first({"device": "nvidia-l4"})
    theirs = first({"device": "nvidia-l4"}, catalog=load_catalog((tmp_path,)))

    assert ours_says.verdict == "reject"
    assert theirs.gate("bandwidth").status != "reject"
    assert f"device nvidia-l4 is from {tmp_path}" in theirs.notes


def test_a_checkpoints_own_bytes_count(first: Callable[..., Verdict], tmp_path: Path) -> None:
    size = 2 * 10**9
    tensor = {"dtype": "BF16", "shape": [size // 2], "data_offsets": [0, size]}
    header = json.dumps({"lm_head.weight": tensor}).encode()
    file = tmp_path / "model.safetensors"
    with file.open("wb") as stream:
        stream.write(struct.pack("<Q", len(header)) + header)
        stream.truncate(8 + len(header) + size)  # a hole: nothing is stored or read

    verdict = first(A100 | {"checkpoint": str(file)})

    weights = next(e.quantity for e in verdict.gate("memory").inputs if e.name == "weights")
    assert weights.value == size


def test_a_checkpoint_file_that_is_not_there_is_an_error(first: Callable[..., Verdict]) -> None:
    with pytest.raises(CatalogError, match="no such file"):
        first(A100 | {"checkpoint": "nowhere/model.safetensors"})


def test_a_share_of_memory_that_nobody_stated_is_the_runtimes_default(
    first: Callable[..., Verdict],
) -> None:
    left_out, stated = (
        next(
            each.quantity.source
            for each in first(A100 | {"settings": settings}).gate("memory").inputs
            if each.name == "memory_utilisation"
        )
        for settings in ({}, {"gpu_memory_utilization": 0.8})
    )

    assert (left_out, stated) == ("the runtime's default", "stated in the campaign")
