"""Figures read as a person writes them."""

from __future__ import annotations

import pytest

from catalog.quantity import Basis, Quantity
from catalog.screen import GateResult
from catalog.verdict import Status, Verdict
from reports.phrases import (
    LEGEND,
    TAGS,
    decisive_basis,
    gate_name,
    gate_title,
    layout,
    money,
    names,
    per_second,
    percent,
    plain,
    tagged,
)


def quantity(value: float, unit: str, basis: Basis = Basis.BOUND) -> Quantity:
    return Quantity(value=value, unit=unit, basis=basis)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.0, "s", "1,000 ms"),
        (0.025, "s", "25 ms"),
        (24_000, "ms", "24,000 ms"),
        (0.02796, "ms", "0.02796 ms"),
        (83.6045, "ms", "83.6 ms"),
        (0.95, "1", "95%"),
        (384 * 2**30, "B", "384 GiB"),
        (2.039e12, "B/s", "2.039 TB/s"),
        (45.479e12, "FLOP/s", "45.48 TFLOP/s"),
        (4.5, "USD/h", "$4.50/h"),
        (2.5, "CHF/h", "CHF 2.50/h"),
        (0.53908, "USD/Mtok", "$0.539/Mtok"),
        (38_400, "tok/h", "38,400 tok/h"),
        (0.0, "ms", "0 ms"),
    ],
)
def test_a_figure_has_no_digits_that_say_nothing(value, unit, text) -> None:
    assert plain(quantity(value, unit)) == text


def test_a_tag_names_the_basis() -> None:
    assert tagged(quantity(8.461, "ms")) == "8.461 ms b"
    assert tagged(quantity(300e9, "B/s", Basis.SPECIFICATION)) == "300 GB/s s"
    assert len(set(TAGS.values())) == len(Basis)


@pytest.mark.parametrize(
    ("share", "text"), [(0.534, "+53%"), (-0.096, "−9.6%"), (0.0019, "+0.19%"), (-1.3, "−130%")]
)
def test_a_margin_is_signed_with_a_true_minus(share, text) -> None:
    assert percent(share) == text


def test_no_price_is_a_dash_and_never_zero() -> None:
    assert money(None) == "–"
    assert money(4.5, per="/h") == "$4.50/h"
    assert money(4.5, "EUR", "/h") == "€4.50/h"


def test_long_lists_of_names_say_how_much_they_leave_out() -> None:
    assert names(["A", "B", "C"]) == "A, B, C"
    assert names(["x" * 50, "y" * 20, "z"]) == f"{'x' * 50} and 2 more"


def test_a_layout_counts_devices_and_ranks() -> None:
    verdict = Verdict(name="C", verdict=Status.PASS, gates=(), device_title="A100")
    pair = Verdict(
        name="C",
        verdict=Status.PASS,
        gates=(),
        device_title="A100",
        device_count=2,
        tensor_parallel=2,
    )

    assert layout(verdict) == "A100"
    assert layout(pair) == "2× A100, TP=2"
    assert layout(Verdict(name="e", verdict=Status.UNKNOWN, gates=())) == "as it runs"


def test_gates_have_the_numbers_of_the_lesson() -> None:
    assert gate_name("bandwidth") == "2 bandwidth"
    assert gate_title("utilisation") == "gate 3b (utilisation)"


@pytest.mark.parametrize(
    ("status", "margin", "basis"),
    [
        (Status.REJECT, -0.1, Basis.BOUND),
        (Status.UNLIKELY, -0.9, Basis.ASSUMPTION),
        (Status.UNKNOWN, None, None),
    ],
)
def test_a_margin_comes_from_the_bound_of_a_reject_else_from_the_worse(
    status, margin, basis
) -> None:
    gate = GateResult(
        gate="bandwidth",
        status=status,
        margin=margin,
        bound=quantity(27, "ms"),
        assumption=quantity(48, "ms", Basis.ASSUMPTION),
    )

    assert decisive_basis(gate) == basis


@pytest.mark.parametrize(("rate", "unit"), [("1", "request/s"), ("0.5", "requests/s")])
def test_a_rate_of_exactly_one_is_singular(rate: str, unit: str) -> None:
    assert per_second(rate) == unit


def test_the_legend_names_each_tag_that_a_gate_can_show() -> None:
    for tag in ("s specification", "b bound", "a assumption", "m measurement"):
        assert tag in LEGEND
