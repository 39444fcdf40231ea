"""The golden table: the lesson's figures and the bounds, to the digits that it gives."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from catalog.architecture import kv_precision, precision
from catalog.entries import Catalog
from catalog.facts import Facts
from catalog.load import load_campaign, shipped_catalog
from catalog.schema import Campaign, Runtime
from catalog.screen import Screen, screen
from catalog.sums import Sums
from catalog.verdict import GateResult, Verdict, shown

SCALES = {"GiB": 2.0**30, "GB": 1e9, "TFLOP": 1e12, "ms": 1.0}


@pytest.fixture(scope="module")
def screens(
    shipped: Catalog, runtimes: Mapping[str, Runtime], today: dt.date
) -> dict[str, Screen]:
    """The two campaigns that ship, screened."""
    folder = shipped_catalog() / "campaigns"
    return {
        name: screen(load_campaign(folder / f"{name}.yaml"), shipped, runtimes, today)
        for name in ("canonical", "exercise")
    }


def candidate(screen: Screen, name: str) -> Verdict:
    return next(each for each in screen.candidates if each.name == name)


def figure(gate: GateResult, name: str, unit: str) -> float:
    """A figure of the gate in ``unit``, as a plain number."""
    if name in ("bound", "assumption", "limit"):
        quantity = getattr(gate, name)
    elif name.startswith("lesson "):
        quantity = gate.lesson[name.removeprefix("lesson ")]
    else:
        inputs = {entry.name: entry.quantity for entry in gate.inputs}
        quantity = inputs.get(name) or gate.details[name]
    scale = 1.0 if quantity.unit == unit else SCALES[unit]
    return quantity.value / scale


GOLDEN = [
    # weights and the KV cache
    ("canonical", "B", "memory", "weights_held", "GiB", "14.9575"),
    ("canonical", "B", "bandwidth", "weights_read", "GB", "15.0098"),
    ("canonical", "B", "memory", "kv_cache_longest", "GiB", "2.2500"),
    # memory floor
    ("canonical", "B", "memory", "lesson memory_floor", "GiB", "20.7075"),
    ("canonical", "D", "memory", "lesson memory_floor", "GiB", "20.7075"),
    ("canonical", "A", "memory", "lesson memory_floor", "GiB", "21.2075"),
    ("canonical", "C", "memory", "lesson memory_floor", "GiB", "12.1038"),
    ("canonical", "B", "memory", "assumption", "GiB", "20.7075"),
    ("canonical", "B", "memory", "bound", "GiB", "17.0825"),
    ("canonical", "C", "memory", "bound", "GiB", "8.5413"),
    ("canonical", "B", "memory", "lesson decimal_capacity", "GiB", "74.51"),
    ("canonical", "B", "memory", "lesson usable_at_utilisation", "GiB", "67.06"),
    ("canonical", "B", "memory", "limit", "GiB", "80.00"),
    # step bytes and the decode step
    ("canonical", "B", "bandwidth", "lesson step_bytes", "GB", "18.3422"),
    ("canonical", "C", "bandwidth", "lesson step_bytes", "GB", "9.1711"),
    ("canonical", "B", "bandwidth", "step_bytes", "GB", "17.2936"),
    ("canonical", "A", "bandwidth", "lesson t_mem", "ms", "48.27"),
    ("canonical", "B", "bandwidth", "lesson t_mem", "ms", "11.83"),
    ("canonical", "C", "bandwidth", "lesson t_mem", "ms", "5.92"),
    ("canonical", "D", "bandwidth", "lesson t_mem", "ms", "76.43"),
    ("canonical", "A", "bandwidth", "assumption", "ms", "48.27"),
    ("canonical", "A", "bandwidth", "bound", "ms", "27.4"),
    ("canonical", "B", "bandwidth", "bound", "ms", "8.46"),
    ("canonical", "C", "bandwidth", "bound", "ms", "4.22"),
    ("canonical", "D", "bandwidth", "bound", "ms", "57.5"),
    # prefill
    ("canonical", "B", "compute", "lesson prefill", "TFLOP", "16.721"),
    ("canonical", "B", "compute", "work", "TFLOP", "14.570"),
    ("canonical", "A", "compute", "lesson t_prefill", "ms", "222.9"),
    ("canonical", "B", "compute", "lesson t_prefill", "ms", "83.6"),
    ("canonical", "C", "compute", "lesson t_prefill", "ms", "41.8"),
    ("canonical", "D", "compute", "lesson t_prefill", "ms", "222.9"),
    ("canonical", "B", "compute", "assumption", "ms", "83.6"),
    ("canonical", "B", "compute", "bound", "ms", "46.7"),
    # all-reduces over NVLink 3
    ("canonical", "C", "interconnect", "lesson communication", "ms", "0.334"),
    ("canonical", "C", "interconnect", "bound", "ms", "0.028"),
    ("canonical", "C", "interconnect", "lesson step_with_communication", "ms", "6.25"),
    # the exercise
    ("exercise", "B", "memory", "lesson memory_floor", "GiB", "19.2075"),
    ("exercise", "C", "memory", "assumption", "GiB", "19.2075"),
    ("exercise", "B", "memory", "lesson spare_kv", "GiB", "3.14"),
    ("exercise", "B", "bandwidth", "lesson step_bytes", "GB", "16.7316"),
    ("exercise", "B", "bandwidth", "step_bytes", "GB", "15.682"),
    ("exercise", "A", "bandwidth", "lesson t_mem", "ms", "28.85"),
    ("exercise", "B", "bandwidth", "lesson t_mem", "ms", "69.72"),
    ("exercise", "C", "bandwidth", "lesson t_mem", "ms", "11.15"),
    ("exercise", "C", "compute", "lesson prefill", "TFLOP", "8.2917"),
    ("exercise", "C", "compute", "lesson t_prefill", "ms", "41.46"),
    ("exercise", "C", "compute", "work", "TFLOP", "7.217"),
]


@pytest.mark.parametrize("row", GOLDEN, ids=" ".join)
def test_the_golden_value_comes_out_to_its_digits(
    screens: dict[str, Screen], row: tuple[str, ...]
) -> None:
    campaign_name, name, gate, what, unit, expected = row
    digits = len(expected.partition(".")[2])

    value = figure(candidate(screens[campaign_name], name).gate(gate), what, unit)

    assert f"{value:.{digits}f}" == expected


@pytest.mark.parametrize(
    ("campaign_name", "name", "expected"),
    [
        ("canonical", "A", "28.1"),
        ("canonical", "B", "8.48"),
        ("canonical", "D", "57.6"),
        ("exercise", "A", "17.0"),
        ("exercise", "B", "52.3"),
        ("exercise", "C", "8.10"),
    ],
)
def test_step_at_the_peak_before_the_cache_term(
    screens: dict[str, Screen], campaign_name: str, name: str, expected: str
) -> None:
    gate = candidate(screens[campaign_name], name).gate("bandwidth")
    digits = len(expected.partition(".")[2])

    step_ms = figure(gate, "step_bytes", "B") / figure(gate, "peak_bandwidth", "B/s") * 1e3

    assert f"{step_ms:.{digits}f}" == expected


@pytest.fixture(scope="module")
def llama(
    shipped: Catalog,
    runtimes: Mapping[str, Runtime],
    campaign: Callable[..., Campaign],
    canonical: dict[str, Any],
    today: dt.date,
) -> Sums:
    """The canonical contract's sums in BF16 on one rank."""
    facts = Facts.of(campaign(canonical), shipped, runtimes, today)
    assert facts.arch is not None
    arithmetic = facts.arithmetic(facts.arch, "hub")
    bf16 = precision("bfloat16"), kv_precision("bfloat16")
    return arithmetic.sums(*bf16, k=1, block_tokens=16)


def test_step_bytes_with_and_without_the_kv_write(llama: Sums) -> None:
    step = llama.weights_read + 16 * llama.kv_moved

    assert f"{step / 1e9:.4f}" == "17.2936"
    assert f"{(step - 16 * 131_072) / 1e9:.4f}" == "17.2916"


def test_kv_of_sixteen_streams_is_2_25_gib(llama: Sums) -> None:
    assert 16 * llama.assumed_kv_longest == 2_415_919_104


def test_canonical_verdicts_are_those_of_the_lesson_with_proof(
    screens: dict[str, Screen],
) -> None:
    seen = {
        c.name: (c.verdict.value, c.decided_by, [rank.value for rank in c.ranks])
        for c in screens["canonical"].candidates
    }

    assert seen == {
        "A": ("reject", "bandwidth", []),
        "B": ("pass", None, ["primary"]),
        "C": ("pass", None, ["cost-inefficient"]),
        "D": ("reject", "bandwidth", []),
    }


def test_at_the_bound_one_and_two_devices_tie(screens: dict[str, Screen]) -> None:
    costs = [
        candidate(screens["canonical"], name).best_usd_per_1m_output for name in ("B", "C")
    ]

    assert [f"{cost:.3f}" for cost in costs if cost is not None] == ["0.539", "0.538"]


def test_eight_requests_per_second_are_a_load_point_and_no_clause(
    screens: dict[str, Screen],
) -> None:
    gate = candidate(screens["canonical"], "B").gate("utilisation")

    assert gate.status == "not_applicable"
    assert f"{figure(gate, 'at_8_per_s_assumed', '1'):.2f}" == "1.43"


def test_exercise_verdicts(screens: dict[str, Screen]) -> None:
    seen = {
        c.name: (c.verdict.value, c.decided_by, [rank.value for rank in c.ranks])
        for c in screens["exercise"].candidates
    }

    assert seen == {
        "A": ("pass", None, ["thin-margin"]),
        "B": ("reject", "bandwidth", []),
        "C": ("pass", None, ["primary"]),
    }


def test_the_epyc_is_close_to_the_limit_by_assumption(screens: dict[str, Screen]) -> None:
    gate = candidate(screens["exercise"], "A").gate("bandwidth")

    assert gate.status == "pass"
    assert [shown(q) for q in (gate.assumption, gate.limit) if q] == ["28.85 ms", "30.00 ms"]


def test_an_l4_at_utilisation_0_90_fails_memory_by_assumption_only(
    screens: dict[str, Screen],
) -> None:
    gate = candidate(screens["canonical"], "D").gate("memory")

    assert gate.status == "unlikely"
    assert f"{figure(gate, 'assumption', 'GiB'):.2f}" == "20.71"
    assert f"{figure(gate, 'limit', 'GiB'):.2f}" == "22.49"
    assert f"{figure(gate, 'usable', 'GiB'):.2f}" == "20.24"
