"""One way to write a number: three digits, a unit, a basis, and how sure it is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.quantity import Basis
from reports.number_words import (
    DASH,
    amount,
    digits,
    interval,
    number_cell,
    number_phrase,
    p_words,
    ratio_phrase,
)
from reports.run.number import Number


def number(value, unit="ms", **changes) -> Number:
    return Number(value=value, unit=unit, basis=Basis.MEASUREMENT, **changes)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (340.4, "ms", "340 ms"),
        (1000, "ms", "1,000 ms"),
        (16.24, "ms", "16.2 ms"),
        (0.984, "1", "98.4%"),
        (0.984, "share", "98.4%"),
        (1.2849, "USD/Mtok", "$1.28/Mtok"),
        (-3.14159, "s", "−3.14 s"),
        (0, "ms", "0 ms"),
        (None, "ms", DASH),
    ],
)
def test_an_amount_has_three_digits_and_its_unit(value, unit, text) -> None:
    assert amount(value, unit) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (number(340, low=312, high=371), "312–340–371"),
        (number(340, low=312), "≥ 312 (seen 340)"),
        (number(None, low=312), "≥ 312"),
        (number(None, high=300), "≤ 300"),
        (number(None, low=10, high=300), "10.0–300"),
        (number(340), "340"),
        (number(0.95, "1", low=0.9, high=0.99), "90.0–95.0–99.0"),
    ],
)
def test_an_interval_never_shows_a_limit_that_is_not_there(found, text) -> None:
    assert interval(found) == text


def test_what_was_not_measured_is_a_dash_with_its_reason() -> None:
    assert number_cell(None, "no price").line == f"{DASH} (no price)"
    assert number_cell(number(None, note="beyond the failures")).detail == "beyond the failures"
    assert number_phrase(None, "no price") == f"{DASH} (no price)"


def test_a_measurement_without_an_interval_says_so_and_a_specification_need_not() -> None:
    stated = Number(value=3.67, unit="USD/h", basis=Basis.SPECIFICATION)

    assert number_cell(number(340)).detail == "no interval"
    assert number_cell(stated).detail == ""


def test_a_cell_carries_the_basis_of_its_number() -> None:
    simulated = Number(value=340, unit="ms", basis=Basis.SIMULATION, low=1, high=400)

    assert number_cell(number(340, low=1, high=400)).text.endswith("\N{NO-BREAK SPACE}m")
    assert number_cell(simulated).text.endswith("\N{NO-BREAK SPACE}sim")


def test_a_phrase_says_on_how_much_the_number_rests() -> None:
    found = number(340, low=312, high=371, n=1000, runs=5)

    expected = "340 ms (312 ms to 371 ms, 1,000 requests, 5 launches, measurement)"
    assert number_phrase(found) == expected


def test_a_ratio_is_no_share() -> None:
    found = number(1.42, "1", low=1.36, high=1.49, runs=3)

    assert ratio_phrase(found) == "1.42 (1.36 to 1.49, 3 launches, measurement)"


@pytest.mark.parametrize(
    ("p", "text"), [(None, DASH), (0.0004, "< 0.001"), (0.0421, "0.042"), (0.4, "0.40")]
)
def test_small_p_values_are_all_alike(p, text) -> None:
    assert p_words(p) == text


@given(st.floats(min_value=1e-6, max_value=1e9))
def test_three_digits_are_within_half_a_percent_of_the_value(value) -> None:
    assert float(digits(value).replace(",", "")) == pytest.approx(value, rel=0.005)
