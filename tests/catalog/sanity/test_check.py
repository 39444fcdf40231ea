"""Each check passes on a sound entry and finds the one thing that was spoilt in it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.entries import Catalog
from catalog.load import load_catalog
from catalog.sanity import Finding, check, check_runtimes
from catalog.schema import Device, Link, Model, Offer, Runtime
from deploy_templates.registry import load_runtimes

TODAY = dt.date(2026, 8, 22)
LLAMA = {
    "model_type": "llama",
    "num_hidden_layers": 16,
    "hidden_size": 2048,
    "intermediate_size": 8192,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 64,
    "vocab_size": 128256,
    "tie_word_embeddings": True,
    "max_position_embeddings": 131072,
}


def fact(value: str, **more: str) -> dict[str, str]:
    return {"value": value, "source": "unverified", **more}


def assumed(value: str) -> dict[str, str]:
    return fact(value, basis="assumption")


DEVICE = {
    "name": "card",
    "title": "A card",
    "vendor": "Somebody",
    "device_class": "cuda",
    "marketed_memory": fact("80 GB"),
    "memory": fact("81920 MiB"),
    "memory_bandwidth": fact("2000 GB/s"),
    "compute": {
        "bf16": fact("300 TFLOP/s"),
        "fp16": fact("300 TFLOP/s"),
        "fp8": fact("600 TFLOP/s"),
    },
    "flop_per_cycle": {"bf16": 200_000},
    "rated_clock": fact("1500 MHz"),
    "maximum_clock": fact("1800 MHz"),
    "links": ["cable"],
    "achieved": {
        "bandwidth": assumed("1500 GB/s"),
        "compute": {"bf16": assumed("200 TFLOP/s")},
    },
}
LINK = {
    "name": "cable",
    "title": "A cable",
    "per_direction": fact("300 GB/s"),
    "lesson": {"alpha": assumed("5 us"), "bandwidth": fact("600 GB/s")},
    "effective": [
        {"devices": 2, "alpha": assumed("5 us"), "bandwidth": assumed("200 GB/s")},
        {"devices": 8, "alpha": assumed("9 us"), "bandwidth": assumed("100 GB/s")},
    ],
}
OFFER = {
    "name": "one",
    "device": "card",
    "device_count": 2,
    "link": "cable",
    "region": "here",
    "sold_as": "instance",
    "source": "a price list",
    "date": "2026-08-22",
    "price": "$4.00/h",
}
MODEL = {
    "name": "small",
    "checkpoints": [{"name": "small", "precision": "bfloat16"}],
    "source": "its config.json",
    "parameters_published": 1_235_814_400,
    "config": LLAMA,
}


def spoilt(entry: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """A copy in which the fields at dotted paths are replaced; None takes one out."""
    copy: dict[str, Any] = {
        key: dict(value) if isinstance(value, dict) else value for key, value in entry.items()
    }
    for path, value in changes.items():
        *parents, last = path.split(".")
        here = copy
        for parent in parents:
            here[parent] = dict(here[parent])
            here = here[parent]
        if value is None:
            del here[last]
        else:
            here[last] = value
    return copy


def findings(
    *,
    device: Mapping[str, Any] | None = None,
    link: Mapping[str, Any] | None = None,
    offer: Mapping[str, Any] | None = None,
    model: Mapping[str, Any] | None = None,
    today: dt.date = TODAY,
) -> list[Finding]:
    """What is found in a small catalog that is sound but for the changes asked for."""
    catalog = Catalog(
        devices={"card": Device.model_validate(spoilt(DEVICE, device or {}))},
        links={"cable": Link.model_validate(spoilt(LINK, link or {}))},
        models={"small": Model.model_validate(spoilt(MODEL, model or {}))},
        offers={"sky/one": Offer.model_validate(spoilt(OFFER, offer or {}))},
    )
    return check(catalog, today)


def test_a_sound_catalog_has_no_findings() -> None:
    assert findings() == []


@pytest.mark.parametrize(
    ("changes", "field", "seen"),
    [
        ({"compute.fp8": fact("900 TFLOP/s")}, "compute.fp8", "fp8 is 3.00 times bf16"),
        ({"compute.fp8": fact("620 TFLOP/s")}, "compute.fp8", "fp8 is 2.07 times bf16"),
        ({"compute.fp16": fact("600 TFLOP/s")}, "compute.fp16", "fp16 is 2.00 times bf16"),
        (
            {"compute": {"bf16": fact("600 TFLOP/s")}},
            "compute.bf16",
            "600 TFLOP/s is 2.00 times 200000 FLOP per cycle at 1.50 GHz",
        ),
        ({"maximum_clock": fact("1400 MHz")}, "maximum_clock", "1.40 GHz is below the rated"),
        ({"memory": fact("90 GiB")}, "memory", "90.0 GiB is +20.8% from the marketed 74.5 GiB"),
        ({"memory": fact("70 GB")}, "memory", "65.2 GiB is -12.5% from the marketed 74.5 GiB"),
        ({"links": ["rope"]}, "links.0", "link 'rope' is not in the catalog"),
        (
            {"achieved.bandwidth": assumed("2100 GB/s")},
            "achieved.bandwidth",
            "2.10 TB/s is above the peak of 2.00 TB/s",
        ),
        (
            {"achieved.compute": {"bf16": assumed("301 TFLOP/s")}},
            "achieved.compute.bf16",
            "301 TFLOP/s is above the peak of 300 TFLOP/s",
        ),
        (
            {"achieved.bandwidth": fact("1500 GB/s")},
            "achieved.bandwidth",
            "an achieved rate has the basis specification",
        ),
        (
            {"achieved.above_peak": ["bf16"]},
            "achieved.above_peak",
            "bf16 is listed but 200 TFLOP/s is not above 300 TFLOP/s",
        ),
        (
            {"memory_channels": 16, "memory_bandwidth": fact("2000 GB/s")},
            "memory_bandwidth",
            "2.00 TB/s over 16 channels is 15625 MT/s, which no module runs at",
        ),
    ],
)
def test_a_devices_contradiction_is_found(
    changes: dict[str, Any], field: str, seen: str
) -> None:
    (found,) = findings(device=changes)

    assert (found.severity, found.name, found.field) == ("error", "card", field)
    assert seen in found.seen


@pytest.mark.parametrize(
    "changes",
    [
        {"compute.fp8": fact("300 TFLOP/s")},
        {"compute.fp8": fact("617 TFLOP/s")},
        {"compute.fp8": None},
        {"memory": fact("86.3 GB")},
        {"memory": None},
        {"maximum_clock": fact("1500 MHz")},
        {"maximum_clock": None},
        {"rated_clock": None},
        {"achieved": {}},
        {"memory_bandwidth": None},
        {"memory_channels": 16, "memory_bandwidth": fact("614.4 GB/s"), "achieved": {}},
        {"memory_channels": 24, "memory_bandwidth": fact("1689.6 GB/s"), "achieved": {}},
    ],
)
def test_a_device_without_a_contradiction_passes(changes: dict[str, Any]) -> None:
    assert findings(device=changes) == []


def test_an_assumption_above_its_peak_that_is_marked_is_a_warning() -> None:
    marked = {
        "achieved.compute": {"bf16": assumed("450 TFLOP/s")},
        "achieved.above_peak": ["bf16"],
    }

    (found,) = findings(device=marked)

    assert (found.severity, found.field) == ("warning", "achieved.compute.bf16")
    assert "it is kept as unverified states it" in found.seen


def test_a_figure_that_looks_sparse_is_a_warning_where_no_cycle_count_proves_it() -> None:
    sparse = {"flop_per_cycle": {}, "compute": {"bf16": fact("1500 TFLOP/s")}}

    (found,) = findings(device=sparse)

    assert (found.severity, found.field) == ("warning", "compute.bf16")
    assert "750 FLOP per byte" in found.seen


@given(ratio=st.floats(0.5, 2.5))
def test_fp8_passes_exactly_within_three_percent_of_once_or_twice_bf16(ratio: float) -> None:
    found = findings(device={"compute.fp8": fact(f"{300 * ratio} TFLOP/s")})

    assert bool(found) == (min(abs(ratio - 1), abs(ratio - 2) / 2) > 0.03)


@pytest.mark.parametrize(
    ("changes", "field", "seen"),
    [
        (
            {"lesson.bandwidth": fact("300 GB/s")},
            "lesson.bandwidth",
            "300 GB/s is not twice the 300 GB/s of one direction",
        ),
        (
            {
                "effective": [
                    {"devices": 2, "alpha": assumed("5 us"), "bandwidth": assumed("301 GB/s")}
                ]
            },
            "effective.0.bandwidth",
            "301 GB/s is above the 300 GB/s of one direction",
        ),
        (
            {"effective": [LINK["effective"][0]] * 2},
            "effective",
            "two rows are for the same number of devices",
        ),
    ],
)
def test_a_links_contradiction_is_found(changes: dict[str, Any], field: str, seen: str) -> None:
    (found,) = findings(link=changes)

    assert (found.severity, found.field) == ("error", field)
    assert seen in found.seen


def test_a_link_without_the_lessons_figures_passes() -> None:
    assert findings(link={"lesson": None, "effective": []}) == []


@pytest.mark.parametrize(
    ("changes", "field", "seen"),
    [
        ({"device": "gard"}, "device", "device 'gard' is not in the catalog"),
        ({"link": "rope"}, "link", "link 'rope' is not in the catalog"),
        ({"price": "$2400/h"}, "price", "is 1200 USD per device and hour"),
        ({"price": "$0.02/h"}, "price", "is 0.01 USD per device and hour"),
        ({"price": "0.02 EUR/h"}, "price", "is 0.01 EUR per device and hour"),
        ({"date": "2026-08-23"}, "date", "the price is dated 2026-08-23, after 2026-08-22"),
    ],
)
def test_an_offers_contradiction_is_found(
    changes: dict[str, Any], field: str, seen: str
) -> None:
    (found,) = findings(offer=changes)

    assert (found.severity, found.name, found.field) == ("error", "sky/one", field)
    assert seen in found.seen


@pytest.mark.parametrize(
    "changes",
    [
        {"price": None},
        {"link": None, "device_count": 1},
        {"price": "900 JPY/h"},
        {"price": "$0.04/h"},
        {"price": "$100/h"},
        {"date": "2026-05-24"},
    ],
)
def test_an_offer_without_a_contradiction_passes(changes: dict[str, Any]) -> None:
    assert findings(offer=changes) == []


def test_a_price_is_stale_after_ninety_days_and_that_is_a_warning() -> None:
    on_the_ninetieth = findings(today=TODAY + dt.timedelta(days=90))
    (found,) = findings(today=TODAY + dt.timedelta(days=91))

    assert on_the_ninetieth == []
    assert (found.severity, found.field) == ("warning", "date")
    assert "91 days old" in found.seen


def test_an_unknown_price_does_not_grow_stale() -> None:
    assert findings(offer={"price": None}, today=dt.date(2030, 1, 1)) == []


@pytest.mark.parametrize(
    ("changes", "severity", "field", "seen"),
    [
        (
            {"parameters_published": 1_300_000_000},
            "error",
            "parameters_published",
            "1,300,000,000 parameters are published but the config gives 1,235,814,400",
        ),
        (
            {"config": {"model_type": "elephant"}},
            "warning",
            "config",
            "'elephant' is not model",
        ),
        ({"reference_precision": "bf61"}, "error", "reference_precision", "name 'bf61'"),
        (
            {"checkpoints": [{"name": "small", "precision": "int3"}]},
            "error",
            "checkpoints.0.precision",
            "name 'int3'",
        ),
    ],
)
def test_a_models_contradiction_is_found(
    changes: dict[str, Any], severity: str, field: str, seen: str
) -> None:
    (found,) = findings(model=changes)

    assert (found.severity, found.field) == (severity, field)
    assert seen in found.seen


@pytest.mark.parametrize(
    "changes", [{"parameters_published": None}, {"parameters_published": 1_236_000_000}]
)
def test_a_model_without_a_contradiction_passes(changes: dict[str, Any]) -> None:
    assert findings(model=changes) == []


def test_errors_stand_before_warnings() -> None:
    found = findings(
        device={"memory": fact("90 GiB")}, offer={"date": "2026-01-01", "price": "$2400/h"}
    )

    assert [each.severity for each in found] == ["error", "error", "warning"]


RUNTIME = {
    "name": "engine",
    "title": "An engine",
    "versions": [{"version": "1.0", "source": "notes"}, {"version": "2.0", "source": "notes"}],
    "families": [{"family": "llama", "since": "1.0"}],
    "devices": [
        {
            "device_class": "cuda",
            "weights": ["bfloat16", "fp8"],
            "kv_cache": ["bfloat16"],
            "compute_capability_by_precision": {"fp8": "8.9"},
            "since": "1.0",
            "until": "2.0",
        }
    ],
    "tradeoffs": dict.fromkeys(
        (
            "primary_execution_backend",
            "continuous_batching",
            "kv_cache_management",
            "prefix_caching",
            "chunked_prefill",
            "tensor_parallelism",
            "deployment_complexity",
            "best_production_fit",
        ),
        "words",
    ),
}


def of_runtime(**device: Any) -> list[Finding]:
    changed = {**RUNTIME, "devices": [{**RUNTIME["devices"][0], **device}]}
    return check_runtimes({"engine": Runtime.model_validate(changed)})


def test_sound_capabilities_have_no_findings() -> None:
    assert of_runtime() == []


@pytest.mark.parametrize(
    ("changes", "field", "seen"),
    [
        ({"since": "1.5"}, "devices.0.since", "release '1.5' is not under versions"),
        ({"until": "3.0"}, "devices.0.until", "release '3.0' is not under versions"),
        ({"weights": ["fp8", "fp9"]}, "devices.0.weights.1", "name 'fp9'"),
        ({"kv_cache": ["int3"]}, "devices.0.kv_cache.0", "name 'int3'"),
        (
            {"compute_capability_by_precision": {"int8": "7.5"}},
            "devices.0.compute_capability_by_precision.int8",
            "'int8' is not among the weights",
        ),
    ],
)
def test_a_runtimes_contradiction_is_found(
    changes: dict[str, Any], field: str, seen: str
) -> None:
    (found,) = of_runtime(**changes)

    assert (found.severity, found.field) == ("error", field)
    assert seen in found.seen


def test_a_family_since_an_unknown_release_is_found() -> None:
    changed = {**RUNTIME, "families": [{"family": "llama", "since": "0.9"}]}

    (found,) = check_runtimes({"engine": Runtime.model_validate(changed)})

    assert found.field == "families.0.since"


def test_a_file_that_cannot_be_read_is_a_finding_and_the_others_are_still_checked(
    tmp_path: Path,
) -> None:
    for path, text in {
        "devices/broken.yaml": "{",
        "offers/cloudy.yaml": "cloud: cloudy\n",
        "links/thin.yaml": (
            "name: thin\ntitle: T\nper_direction: {value: 1 GB/s, source: unverified}\n"
            "lesson:\n  alpha: {value: 1 us, source: unverified}\n"
            "  bandwidth: {value: 1 GB/s, source: unverified}\n"
        ),
    }.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)

    errors = [
        each for each in check(load_catalog([tmp_path]), TODAY) if each.severity == "error"
    ]

    assert [(each.kind, each.name) for each in errors] == [
        ("device", "broken"),
        ("offer", "cloudy"),
        ("link", "thin"),
    ]
    assert "broken.yaml:1" in errors[0].seen


def test_the_shipped_catalog_has_one_known_exception_on_the_day_of_its_prices() -> None:
    found = check(load_catalog(), TODAY)

    assert [(each.severity, each.name, each.field) for each in found] == [
        ("warning", "amd-epyc-9654-2s", "achieved.compute.bf16")
    ]


def test_the_shipped_runtimes_have_no_findings() -> None:
    assert check_runtimes(load_runtimes()) == []
