from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

from catalog.errors import CatalogError
from catalog.load import load_campaign, load_catalog, load_file, shipped_catalog
from catalog.quantity import Basis
from catalog.schema import Device, OfferFile

CAMPAIGN = """\
schema_version: 1
name: mine
contract:
  model: meta-llama/Meta-Llama-3-8B-Instruct
  prompt_tokens: {prompt}
  output_tokens: 128
  concurrency: 16
candidates:
  - {{name: B, device: nvidia-l4, runtime: vllm}}
"""
DEVICE = """\
name: {name}
title: A card
vendor: Somebody
device_class: cuda
sources:
  sheet: {{title: The datasheet, date: 2026-08-01}}
marketed_memory: {{value: 24 GB, source: sheet}}
memory_bandwidth: {{value: {bandwidth}, source: sheet, date: 2026-08-22}}
"""
OFFERS = """\
cloud: {cloud}
title: A cloud
sources:
  list: {{title: The price list, date: 2026-08-22}}
offers:
  - {{name: one, device: nvidia-l4, device_count: 1, region: here, sold_as: share, source: list,
     price: {price}}}
  - {{name: two, device: nvidia-l4, device_count: 1, region: here, sold_as: share, source: list,
     price: }}
"""


def card(name: str, bandwidth: str) -> str:
    return DEVICE.format(name=name, bandwidth=bandwidth)


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_a_campaign_reads_as_its_values(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.yaml", CAMPAIGN.format(prompt=1024))

    campaign = load_campaign(path)

    assert campaign.contract.prompt_tokens.maximum == 1024
    assert campaign.candidates[0].device == "nvidia-l4"


def test_lengths_of_a_file_form_are_found_beside_the_campaign(tmp_path: Path) -> None:
    write(tmp_path / "lengths.txt", "300\n\n100\n200\n")
    path = write(tmp_path / "mine.yaml", CAMPAIGN.format(prompt="file:lengths.txt"))

    lengths = load_campaign(path).contract.prompt_tokens

    assert lengths.values == (100, 200, 300)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("100\n1e3\n", "lengths.txt:2: '1e3' is not a length"),
        ("100\n0\n", "lengths.txt:2: '0' is not a length"),
        ("", "gave no lengths"),
        (None, "lengths.txt: there is no such file"),
    ],
)
def test_a_bad_lengths_file_is_named_with_its_line(
    tmp_path: Path, content: str | None, message: str
) -> None:
    if content is not None:
        write(tmp_path / "lengths.txt", content)
    path = write(tmp_path / "mine.yaml", CAMPAIGN.format(prompt="file:lengths.txt"))

    with pytest.raises(CatalogError, match=r"mine.yaml:5: contract.prompt_tokens: ") as caught:
        load_campaign(path)

    assert message in str(caught.value)


def test_a_fact_carries_value_basis_source_and_date(tmp_path: Path) -> None:
    path = write(tmp_path / "card.yaml", card("card", "2039 GB/s"))

    device = load_file(path, Device)

    assert device.memory_bandwidth is not None
    assert device.memory_bandwidth.value == 2039e9
    assert device.memory_bandwidth.basis is Basis.SPECIFICATION
    assert device.memory_bandwidth.source == "The datasheet"
    assert device.memory_bandwidth.date == date(2026, 8, 22)
    assert device.marketed_memory.date == date(2026, 8, 1)


def test_a_price_carries_the_source_and_date_of_its_row(tmp_path: Path) -> None:
    path = write(tmp_path / "sky.yaml", OFFERS.format(cloud="sky", price="$1.25/h"))

    one, two = load_file(path, OfferFile).offers

    assert one.price is not None
    assert (one.price.value, one.price.unit) == (1.25, "USD/h")
    assert (one.price.source, one.price.date) == ("The price list", date(2026, 8, 22))
    assert two.price is None


def test_the_shipped_catalog_has_the_devices_of_the_lesson() -> None:
    catalog = load_catalog()

    bandwidths = {
        name: catalog.device(name).memory_bandwidth
        for name in ("nvidia-a100-80gb-sxm4", "nvidia-l4", "intel-xeon-8480plus-2s")
    }

    assert {name: str(fact) for name, fact in bandwidths.items()} == {
        "nvidia-a100-80gb-sxm4": "2.04 TB/s",
        "nvidia-l4": "300 GB/s",
        "intel-xeon-8480plus-2s": "614 GB/s",
    }


def test_an_unknown_name_is_answered_with_the_nearest_one() -> None:
    catalog = load_catalog()

    with pytest.raises(CatalogError, match=r"no device of this name. Did you mean 'nvidia-l4'"):
        catalog.device("nvidia-l-4")


def test_a_users_entry_wins_over_ours_and_is_known_as_theirs(tmp_path: Path) -> None:
    write(tmp_path / "devices/nvidia-l4.yaml", card("nvidia-l4", "9 GB/s"))

    catalog = load_catalog([tmp_path])

    fact = catalog.device("nvidia-l4").memory_bandwidth
    assert fact is not None
    assert fact.value == 9e9
    assert catalog.origin("device", "nvidia-l4") == str(tmp_path)
    assert catalog.origin("device", "nvidia-a100-80gb-sxm4") == "runoff"


def test_of_two_folders_the_later_wins(tmp_path: Path) -> None:
    for number in (1, 2):
        write(
            tmp_path / f"{number}/devices/card.yaml",
            card("card", f"{number} GB/s"),
        )

    catalog = load_catalog([tmp_path / "1", tmp_path / "2"])

    assert str(catalog.device("card").memory_bandwidth) == "2.00 GB/s"


def test_an_offer_of_theirs_replaces_only_the_row_of_its_name(tmp_path: Path) -> None:
    write(tmp_path / "1/offers/sky.yaml", OFFERS.format(cloud="sky", price="$1/h"))
    only_one = OFFERS.format(cloud="sky", price="$2/h").partition("  - {name: two")[0]
    write(tmp_path / "2/offers/sky.yaml", only_one)

    catalog = load_catalog([tmp_path / "1", tmp_path / "2"])

    assert str(catalog.offer("sky/one").price) == "$2.00/h"
    assert catalog.origin("offer", "sky/one") == str(tmp_path / "2")
    assert catalog.origin("offer", "sky/two") == str(tmp_path / "1")
    assert catalog.file("offer", "sky/two") == tmp_path / "1/offers/sky.yaml"


def test_an_entry_is_read_only_when_it_is_asked_for(tmp_path: Path) -> None:
    write(tmp_path / "devices/broken.yaml", "{")
    write(tmp_path / "devices/card.yaml", card("card", "1 GB/s"))

    catalog = load_catalog([tmp_path])

    assert catalog.device("card").name == "card"
    with pytest.raises(CatalogError, match=r"broken.yaml:1"):
        catalog.device("broken")


def test_an_entry_must_be_called_as_its_file(tmp_path: Path) -> None:
    write(tmp_path / "devices/card.yaml", card("gard", "1 GB/s"))

    with pytest.raises(
        CatalogError, match=r"card.yaml:1: name 'gard' .* Call the file gard.yaml"
    ):
        load_catalog([tmp_path]).device("gard")


def test_a_cloud_must_be_called_as_its_file(tmp_path: Path) -> None:
    write(tmp_path / "offers/sky.yaml", OFFERS.format(cloud="cloud", price="$1/h"))

    with pytest.raises(CatalogError, match=r"sky.yaml:1: cloud 'cloud' does not fit"):
        load_catalog([tmp_path]).offer("sky/one")


def test_two_offers_of_one_name_are_refused(tmp_path: Path) -> None:
    text = OFFERS.format(cloud="sky", price="$1/h").replace("name: two", "name: one")
    write(tmp_path / "offers/sky.yaml", text)

    with pytest.raises(CatalogError, match=r"sky.yaml:8: offer .one. stands in this file"):
        load_catalog([tmp_path]).offer("sky/one")


def test_every_shipped_entry_reads() -> None:
    catalog = load_catalog()

    names = [
        *(device.name for device in catalog.devices.values()),
        *(link.name for link in catalog.links.values()),
    ]

    assert names == [*catalog.devices, *catalog.links]
    assert len(catalog.offers) == len(list(catalog.offers.values()))


def test_the_shipped_catalog_lies_beside_the_code() -> None:
    assert (shipped_catalog() / "devices").is_dir()


MODEL = """\
name: {name}
aliases: [short]
checkpoints: [{{name: org/Weights-AWQ, precision: awq_int4}}]
source: its config.json
config: {{model_type: llama}}
"""


@pytest.mark.parametrize("asked", ["org/Weights", "short", "org/Weights-AWQ"])
def test_a_model_is_found_by_name_alias_or_checkpoint(tmp_path: Path, asked: str) -> None:
    write(tmp_path / "models/short.yaml", MODEL.format(name="org/Weights"))

    assert load_catalog([tmp_path]).model(asked).name == "org/Weights"


def test_a_models_file_may_bear_its_long_name_with_dashes_for_the_slash(tmp_path: Path) -> None:
    write(tmp_path / "models/org--Weights.yaml", MODEL.format(name="'org/Weights'  # quoted"))

    assert load_catalog([tmp_path]).models["org/Weights"].name == "org/Weights"


def test_two_files_of_one_folder_that_hold_the_same_name_are_refused(tmp_path: Path) -> None:
    for file in ("short", "org--Weights"):
        write(tmp_path / f"models/{file}.yaml", MODEL.format(name="org/Weights"))

    with pytest.raises(CatalogError, match=r"org--Weights.yaml is called 'org/Weights' too"):
        load_catalog([tmp_path])
