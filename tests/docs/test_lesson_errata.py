"""Each number of the errata page is what our code computes from the shipped facts."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from catalog.architecture import parameters, read_config
from catalog.best_case import cost
from catalog.entries import Catalog
from catalog.load import load_campaign, load_catalog, shipped_catalog
from catalog.quantity import Basis, Quantity
from catalog.sale import Sale
from catalog.schema import Campaign, Candidate
from catalog.screen import Screen, screen
from catalog.verdict import Status, Verdict
from deploy_templates.registry import load_runtimes

PAGE = (Path(__file__).parents[2] / "docs" / "lesson-errata.md").read_text(encoding="utf-8")
TODAY = dt.date(2026, 9, 1)
SINGLE_STEP_MS = 11.83
MESSAGE_BYTES = 16 * 4096 * 2


@pytest.fixture(scope="module")
def facts() -> Catalog:
    return load_catalog()


@pytest.fixture(scope="module")
def vote(facts: Catalog) -> Callable[[Campaign], Screen]:
    runtimes = load_runtimes()
    return lambda campaign: screen(campaign, facts, runtimes, TODAY)


@pytest.fixture(scope="module")
def canonical(vote) -> dict[str, Verdict]:
    return by_name(vote(shipped("canonical")))


@pytest.fixture(scope="module")
def exercise(vote) -> dict[str, Verdict]:
    return by_name(vote(shipped("exercise")))


def shipped(name: str) -> Campaign:
    return load_campaign(shipped_catalog() / "campaigns" / f"{name}.yaml")


def by_name(screened: Screen) -> dict[str, Verdict]:
    return {candidate.name: candidate for candidate in screened.candidates}


def section(number: int) -> str:
    """The text of one numbered section of the page."""
    found = re.search(rf"^## {number}\. .*?(?=^## )", PAGE, re.DOTALL | re.MULTILINE)
    assert found is not None
    return found.group()


def over_pcie(degree: int) -> Campaign:
    """The canonical contract on A100s that talk over PCIe 4."""
    candidate = {
        "name": "pcie",
        "device": "nvidia-a100-80gb-pcie",
        "device_count": degree,
        "tensor_parallel": degree,
        "link": "pcie4-x16",
        "runtime": "vllm",
        "version": "0.6.3",
        "assumptions": {"bandwidth": "1550 GB/s", "compute": "200 TFLOP/s"},
    }
    candidates = (Candidate.model_validate(candidate),)
    return shipped("canonical").model_copy(update={"candidates": candidates})


def lesson(verdict: Verdict, gate: str) -> Mapping[str, Quantity]:
    return verdict.gate(gate).lesson


def test_the_floor_of_two_gpus_is_12_10_gib_and_not_12_48(canonical) -> None:
    memory = canonical["C"].gate("memory")

    assert f"{memory.lesson['memory_floor'].value:.4f}" == "12.1038"
    assert "| 12.10 |" in section(1)
    assert "12.1038 GiB" in section(1)
    assert f"{memory.bound.value:.3f}" in section(1)


def test_prefill_with_attention_takes_222_9_ms_at_75_tflops(facts, canonical) -> None:
    model = facts.model("meta-llama/Meta-Llama-3-8B-Instruct")
    linear = 2 * parameters(read_config(model.config)) * 1024

    assert f"{linear / 1e12:.3f}" == "16.446"
    assert f"{linear / 75e12 * 1e3:.1f}" == "219.3"
    assert f"{lesson(canonical['A'], 'compute')['prefill'].value / 1e12:.3f}" == "16.721"
    assert f"{lesson(canonical['A'], 'compute')['t_prefill'].value:.1f}" == "222.9"
    assert all(number in section(2) for number in ("16.446", "219.3", "16.721", "222.9"))


def test_two_gpus_over_pcie_are_faster_than_one_by_the_lessons_own_rule(vote) -> None:
    pcie = by_name(vote(over_pcie(2)))["pcie"]
    figures = lesson(pcie, "interconnect")
    per_step = lesson(pcie, "bandwidth")["t_mem"].value
    with_jitter = per_step + 64 * (40e-6 + MESSAGE_BYTES / 64e9) * 1e3

    assert pcie.gate("interconnect").status is Status.PASS
    assert f"{figures['communication'].value:.3f}" == "1.091"
    assert f"{figures['step_with_communication'].value:.3f}" == "7.008"
    assert f"{with_jitter:.3f}" == "8.608"
    assert with_jitter < SINGLE_STEP_MS
    assert f"{figures['break_even_alpha'].value * 1e3:.1f}" == "90.4"
    assert all(n in section(3) for n in ("5.917", "1.091", "7.008", "8.608", "90.4"))


def test_eight_gpus_over_pcie_lose_657_ms_of_prefill_to_communication(vote) -> None:
    pcie = by_name(vote(over_pcie(8)))["pcie"].gate("interconnect")

    assert pcie.status is Status.UNLIKELY
    assert f"{pcie.details['prefill_cost_assumed'].value:.0f}" == "657"
    assert "657 ms" in section(3)


@pytest.mark.parametrize(
    ("path", "marketed", "reported"), [("B", "74.51", "80"), ("D", "22.35", "22.49")]
)
def test_drivers_report_more_than_marketed_bytes_over_2_30(
    canonical, path: str, marketed: str, reported: str
) -> None:
    memory = canonical[path].gate("memory")

    assert f"{memory.lesson['decimal_capacity'].value:.2f}" == marketed
    assert f"{memory.limit.value:.4g}" == reported
    assert f"| {marketed} GiB |" in section(4)
    assert f"{reported} GiB |" in section(4)


def test_ninety_percent_of_an_a100_are_72_gib(canonical) -> None:
    memory = canonical["B"].gate("memory")

    assert f"{memory.lesson['usable_at_utilisation'].value:.2f}" == "67.06"
    assert f"{memory.details['usable'].value:.4g}" == "72"
    assert "| 67.06 GiB | 72 GiB |" in section(4)


@pytest.mark.parametrize(
    ("device", "marketed_mib", "reported_mib"),
    [
        ("nvidia-a100-80gb-sxm4", 81_920, 81_920),
        ("nvidia-l4", 24_576, 23_034),
        ("nvidia-l40s", 49_152, 46_068),
    ],
)
def test_ecc_takes_a_sixteenth_of_gddr6_and_nothing_of_hbm(
    facts, device: str, marketed_mib: int, reported_mib: int
) -> None:
    reported = facts.device(device).memory.value / 2**20
    row = f"| {marketed_mib:,} MiB | {marketed_mib * 15 // 16:,} MiB | {reported_mib:,} MiB |"

    assert reported == reported_mib
    assert row in section(5)


@pytest.mark.parametrize(
    ("link", "both", "one"), [("pcie4-x16", "64", "31.5"), ("nvlink3", "600", "300")]
)
def test_datasheet_links_count_both_directions(facts, link: str, both: str, one: str) -> None:
    entry = facts.link(link)

    assert f"{entry.lesson.bandwidth.value / 1e9:g}" == both
    assert f"{entry.per_direction.value / 1e9:.4g}" == one
    assert f"| {both} GB/s | {one} GB/s |" in section(6)


def test_all_reduces_at_one_directions_bandwidth(vote, canonical) -> None:
    pcie = by_name(vote(over_pcie(2)))["pcie"].gate("interconnect")
    nvlink = canonical["C"].gate("interconnect")

    assert f"{pcie.bound.value:.3f}" == "0.266"
    assert f"{nvlink.bound.value:.3f}" == "0.028"
    assert "0.266 ms over PCIe 4 and 0.028 ms over NVLink 3" in section(6)
    assert f"{16e9 * 16 * 128 / 130 / 8 / 1e9:.1f} GB/s" in section(6)


def test_the_sample_outcome_costs_1_012_and_not_1_28(canonical) -> None:
    contract = shipped("canonical").contract
    tokens = 8 * contract.output_tokens.mean() * 3600 * 0.984
    price = Quantity(value=3.67, unit="USD/h", basis=Basis.ASSUMPTION)
    per_million = cost(Sale(price=price), tokens, Basis.BOUND)

    assert f"{tokens:,.0f}" in section(7)
    assert f"${per_million.value:.3f} per 1M" in section(7)
    assert f"${1.28 * tokens / 1e6:.3f}/h" in section(7)
    assert f"{3.67 / 1.28 * 1e6 / (128 * 3600 * 0.984):.3f} requests/s" in section(7)


def test_at_8_requests_a_second_path_b_would_be_busy_143_percent(canonical) -> None:
    busy = canonical["B"].gate("utilisation").details["at_8_per_s_assumed"]

    assert f"{busy.value * 100:.0f}%" == "143%"
    assert "143% of the time" in section(7)


def test_45_tflops_are_99_percent_of_what_an_epyc_reaches_nowhere(facts, exercise) -> None:
    device = facts.device("amd-epyc-9654-2s")
    per_clock = device.flop_per_cycle["bf16"]
    achieved = shipped("exercise").candidates[0].assumptions.compute.value

    assert f"{per_clock * device.rated_clock.value / 1e12:.2f}" == "29.49"
    assert f"{per_clock * device.maximum_clock.value / 1e12:.2f}" == "45.47"
    assert achieved > per_clock * device.rated_clock.value
    assert all(number in section(8) for number in ("29.49", "45.47", "99%"))


def test_the_exercise_does_not_depend_on_the_45_tflops(exercise) -> None:
    flops = lesson(exercise["A"], "compute")["prefill"].value

    assert f"{flops / 1e12:.2f} TFLOP at 20 TFLOP/s" in section(8)
    assert f"only {flops / 20e12 * 1e3:.0f} ms of 500 ms" in section(8)


def test_a_and_d_fail_at_peak_bandwidth_too(canonical) -> None:
    steps = [f"{canonical[path].gate('bandwidth').bound.value:.1f}" for path in "AD"]

    assert steps == ["27.4", "57.5"]
    assert "at 27.4 and 57.5 ms" in PAGE


def test_the_input_embedding_is_gathered_and_not_read(canonical) -> None:
    inputs = {entry.name: entry.quantity for entry in canonical["B"].gate("bandwidth").inputs}

    assert f"{inputs['weights_read'].value / 1e9:.2f} GB are read" in PAGE
