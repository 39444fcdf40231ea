from __future__ import annotations

from pathlib import Path

import pytest

from catalog.complaints import did_you_mean
from catalog.errors import CatalogError
from catalog.load import load_campaign, load_file
from catalog.schema import Device, OfferFile, Runtime

CAMPAIGN = """\
schema_version: 1
name: mine
contract:
  model: some/model
  prompt_tokens: 1024
  output_tokens: 128
  concurrency: 16
  slo: {ttft: 1000 ms, itl: 25 ms}
candidates:
  - name: B
    device: nvidia-l4
    runtime: vllm
"""
DEVICE = """\
name: card
title: A card
vendor: Somebody
device_class: cuda
sources:
  sheet: {title: The datasheet}
marketed_memory: {value: 24 GB, source: sheet}
"""
OFFERS = """\
cloud: sky
title: A cloud
sources:
  list: {title: The price list, date: 2026-08-22}
offers:
  - name: one
    device: card
    device_count: 1
    region: here
    sold_as: share
    source: list
    price: $1/h
"""


def refusal(tmp_path: Path, text: str, model: type | None = None) -> str:
    """What a user reads, without the folder of the file."""
    path = tmp_path / "file.yaml"
    path.write_text(text)
    with pytest.raises(CatalogError) as caught:
        load_campaign(path) if model is None else load_file(path, model)
    return str(caught.value).replace(f"{tmp_path}/", "")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "concurrency: 16",
            "concurency: 16",
            "file.yaml:7: unknown key 'concurency' in contract. Did you mean 'concurrency'?",
        ),
        (
            "device: nvidia-l4",
            "devise: nvidia-l4",
            "file.yaml:11: unknown key 'devise' in candidates[0]. Did you mean 'device'?",
        ),
        (
            "ttft: 1000 ms",
            "tftt: 1000 ms",
            "file.yaml:8: unknown key 'tftt' in contract.slo. Did you mean 'ttft'?",
        ),
        (
            "name: mine",
            "name: mine\nzzz: 1",
            "file.yaml:3: unknown key 'zzz'. Known: aws, budget, calibrate, candidates,",
        ),
        (
            "  model: some/model\n",
            "",
            "file.yaml:3: key 'model' is missing in contract. Add it",
        ),
        (
            "ttft: 1000 ms",
            "ttft: 1000",
            "file.yaml:8: contract.slo.ttft: 1000 has no unit. Write it with its unit, such as",
        ),
        ("ttft: 1000 ms", "ttft: 16:30", "contract.slo.ttft: unit ':30' in '16:30' does not"),
        ("ttft: 1000 ms", "ttft: 4 GB", "contract.slo.ttft: unit 'GB' in '4 GB' does not fit"),
        ("itl: 25 ms", "itl: -25 ms", "contract.slo.itl: '-25 ms' is negative"),
        ("itl: 25 ms", "itl: 1e999 ms", "contract.slo.itl: '1e999 ms' is too large"),
        ("concurrency: 16", "concurrency: '16'", "'16' is not a whole number"),
        ("concurrency: 16", "concurrency: 1e1", "'1e1' is not a whole number"),
        ("concurrency: 16", "concurrency: 16.0", "16.0 is not a whole number"),
        ("concurrency: 16", "concurrency: true", "True is not a whole number"),
        ("concurrency: 16", "concurrency: 0", "contract.concurrency: 0 does not fit. Input"),
        ("name: mine", "name: mine\nexploratory: no", "exploratory: 'no' is not true or false"),
        ("name: mine", "name: mine\nexploratory: 1", "exploratory: 1 is not true or false"),
        ("name: mine", "name: 5", "name: 5 is not text (in quotes if it looks like a number)"),
        (
            "itl: 25 ms",
            "itl: 25 ms, itl_statistic: tpots",
            "'tpots' is not one of tpot, p95_gap, max_gap. Did you mean 'tpot'?",
        ),
        (
            "itl: 25 ms",
            "itl: 25 ms, itl_statistic: mean",
            "'mean' is not one of tpot, p95_gap, max_gap. Use one of tpot, p95_gap, max_gap",
        ),
        ("itl: 25 ms", "itl: 25 ms, percentile: .inf", "'.inf' is not a number"),
        ("itl: 25 ms", "itl: 25 ms, percentile: 95%", "'95%' is not a number"),
        ("runtime: vllm", "runtime: vllm\n    version: 0.6", "0.6 reads as a number. Quote"),
        (
            "runtime: vllm",
            "runtime: vllm\n    tensor_parallel: 2",
            "file.yaml:10: candidates[0]: 2 ranks need 2 devices but device_count is 1.",
        ),
        (
            "runtime: vllm",
            "runtime: vllm\n    assumptions: {price: -$3/h}",
            "file.yaml:13: candidates[0].assumptions.price: '-$3/h' is negative",
        ),
        (
            "runtime: vllm",
            "runtime: vllm\n    assumptions: {price: $0/h}",
            "candidates[0].assumptions.price: '$0/h' compares with nothing. Give what is paid",
        ),
        (
            "runtime: vllm",
            "runtime: vllm\n    extra_args: --seed 1",
            "candidates[0].extra_args: '--seed 1' is not a list",
        ),
        ("schema_version: 1", "schema_version: 2", "schema_version: 2 is not one of 1"),
        ("candidates:\n", "candidates:\n  - B\n", "candidates[0]: 'B' is not keys with values"),
        ("name: mine", "name: mine\nmatrix: {rates: [8]}", "matrix.rates"),
        (
            "  slo: {ttft: 1000 ms, itl: 25 ms}\n",
            "matrix: {rates: search}\n",
            "rates: search has no limit to search for. State slo.ttft or slo.itl",
        ),
    ],
)
def test_a_fault_in_a_campaign_is_said_with_its_place_and_a_way_out(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert message in refusal(tmp_path, CAMPAIGN.replace(old, new, 1))


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (
            "compute: {bf17: {value: 1 TFLOP/s, source: sheet}}",
            "unknown key 'bf17' in compute.",
        ),
        ("power: 400 W", "power: '400 W' has no source. Write {value: 400 W, source: …}"),
        ("power: {value: 400, source: sheet}", "power: 400 has no unit"),
        ("power: {value: 400 W, source: sheat}", "source 'sheat' is not under sources"),
        ("power: {value: 400 W}", "power: a fact needs both value and source"),
        ("power: {value: 400 W, source: sheet, sorce: x}", "power: unknown key 'sorce'"),
        ("power: {value: 400 W, source: sheet, basis: guess}", "basis 'guess' is not known"),
        ("power: {value: 400 W, source: sheet, date: 16:30}", "'16:30' is not a date"),
        ("memory: {value: 24 GiB/s, source: sheet}", "unit 'GiB/s' in '24 GiB/s' does not fit"),
    ],
)
def test_a_fault_in_a_fact_is_said_with_its_line(
    tmp_path: Path, extra: str, message: str
) -> None:
    text = refusal(tmp_path, DEVICE + extra + "\n", Device)

    assert text.startswith("file.yaml:8: ")
    assert message in text


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "{titel: x}",
            "file.yaml:6: unknown key 'titel' in sources.sheet. Did you mean 'title'?",
        ),
        ("{title: x, date: tomorrow}", "file.yaml:6: sources.sheet.date: 'tomorrow' is not a"),
        ("The datasheet", "file.yaml:6: sources.sheet: 'The datasheet' is not keys with"),
    ],
)
def test_a_fault_in_a_source_is_said_before_the_facts_that_refer_to_it(
    tmp_path: Path, source: str, message: str
) -> None:
    text = DEVICE.replace("{title: The datasheet}", source)

    assert message in refusal(tmp_path, text, Device)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("price: $1/h", "price: -$1/h", "file.yaml:12: offers[0].price: '-$1/h' is negative"),
        ("price: $1/h", "price: $0/h", "file.yaml:12: offers[0].price: '$0/h' compares with"),
        ("price: $1/h", "price: 1", "file.yaml:12: offers[0].price: 1 has no unit"),
        ("price: $1/h", "price: $1", "'$1' needs the unit of '$3.43/h'"),
        ("source: list", "source: lost", "offers[0]: source 'lost' is not under sources"),
        ("source: list", "source: unverified", "offers[0]: a price needs the date on which"),
        ("sold_as: share", "sold_as: shares", "Did you mean 'share'?"),
        ("device_count: 1", "device_count: 0", "offers[0].device_count: 0 does not fit"),
        ("    region: here\n", "", "file.yaml:6: key 'region' is missing in offers[0]"),
    ],
)
def test_a_fault_in_an_offer_is_said_with_its_row(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    assert message in refusal(tmp_path, OFFERS.replace(old, new, 1), OfferFile)


def test_a_fault_of_two_alternatives_is_said_once(tmp_path: Path) -> None:
    endpoint = "    endpoint: ['https://here/v1']\n    price: 3\n"
    text = CAMPAIGN.partition("    device")[0] + endpoint

    assert refusal(tmp_path, text).count("candidates[0].price: 3 has no unit") == 1


def test_all_faults_of_a_file_are_said_in_the_order_of_its_lines(tmp_path: Path) -> None:
    text = CAMPAIGN.replace("25 ms", "25").replace("name: mine", "name: /").replace("16", "-1")

    lines = [line.partition(": ")[0] for line in refusal(tmp_path, text).splitlines()]

    assert lines == ["file.yaml:2", "file.yaml:7", "file.yaml:8"]


def test_past_ten_faults_only_their_number_is_said(tmp_path: Path) -> None:
    text = CAMPAIGN + "".join(f"bad{number}: 1\n" for number in range(30))

    lines = refusal(tmp_path, text).splitlines()

    assert len(lines) == 12
    assert lines[-1] == "… and 19 more"


def test_a_long_value_is_shortened(tmp_path: Path) -> None:
    text = refusal(tmp_path, CAMPAIGN.replace("16", f"[{'x' * 500}]"))

    assert len(text) < 300


def test_keys_that_a_runtime_repeats_through_an_alias_have_a_line(tmp_path: Path) -> None:
    text = "name: x\ndevices:\n  - &d {device_class: gpu}\n  - *d\n"

    assert "file.yaml:3: devices[1].device_class: 'gpu' is" in refusal(tmp_path, text, Runtime)


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("B", "Did you mean 'b'?"),
        ("brake", "Did you mean 'bake'?"),
        ("bak", "Did you mean 'bake'?"),
        ("zzz", "Known: b, bake, c"),
    ],
)
def test_the_nearest_word_is_offered_else_all_of_them(word: str, answer: str) -> None:
    assert did_you_mean(word, ["bake", "b", "c"]) == answer


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("l4", "Did you mean one of maker-l4, maker-l40s?"),
        ("H100", "Did you mean 'maker-h100-80gb'?"),
        ("lama3", "Did you mean 'lab/Lama-3-8B-Instruct-2026'?"),
        ("m", "Known: lab/Lama-3-8B-Instruct-2026, maker-h100-80gb, maker-l4, maker-l40s"),
    ],
)
def test_a_part_of_a_name_finds_the_names_that_hold_it(word: str, answer: str) -> None:
    known = ["maker-l4", "maker-l40s", "maker-h100-80gb", "lab/Lama-3-8B-Instruct-2026"]

    assert did_you_mean(word, known) == answer


def test_of_no_words_none_is_offered() -> None:
    assert did_you_mean("x", []) == "None is known here"
