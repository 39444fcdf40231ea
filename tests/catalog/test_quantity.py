"""Units are read exactly, decimal and binary multiples stay apart, money keeps its currency."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.quantity import (
    EXAMPLES,
    Basis,
    Dimension,
    Quantity,
    convert,
    format_value,
    parse,
    significant,
)


@pytest.mark.parametrize(
    ("text", "dimension", "value", "unit"),
    [
        ("2039 GB/s", Dimension.BANDWIDTH, 2.039e12, "B/s"),
        ("81920 MiB", Dimension.BYTES, 85_899_345_920, "B"),
        ("80 GB", Dimension.BYTES, 80e9, "B"),
        ("80 GiB", Dimension.BYTES, 85_899_345_920, "B"),
        ("312 TFLOP/s", Dimension.COMPUTE, 312e12, "FLOP/s"),
        ("624 TOP/s", Dimension.COMPUTE, 624e12, "FLOP/s"),
        ("25 ms", Dimension.TIME, 0.025, "s"),
        ("5 µs", Dimension.TIME, 5e-6, "s"),
        ("5 us", Dimension.TIME, 5e-6, "s"),
        ("$3.43/h", Dimension.PRICE, 3.43, "USD/h"),
        ("3.10 EUR/h", Dimension.PRICE, 3.1, "EUR/h"),
        ("€3.10/h", Dimension.PRICE, 3.1, "EUR/h"),
        ("$250,000", Dimension.MONEY, 250_000, "USD"),
        ("$2.50/Mtok", Dimension.COST, 2.5, "USD/Mtok"),
        ("95%", Dimension.SHARE, 0.95, "1"),
        ("0.95", Dimension.SHARE, 0.95, "1"),
        ("8/s", Dimension.RATE, 8.0, "/s"),
        ("120/min", Dimension.RATE, 2.0, "/s"),
        ("50 Mtok/h", Dimension.THROUGHPUT, 50e6, "tok/h"),
        ("1 point", Dimension.POINTS, 1.0, "points"),
        ("1e3 MB/s", Dimension.BANDWIDTH, 1e9, "B/s"),
    ],
)
def test_a_quantity_is_read_into_its_base_unit(text, dimension, value, unit):
    assert parse(text, dimension) == (value, unit)


@pytest.mark.parametrize("dimension", list(Dimension))
def test_the_example_in_each_error_message_is_itself_accepted(dimension):
    value, _ = parse(EXAMPLES[dimension], dimension)

    assert value > 0


@pytest.mark.parametrize("text", ["2039", 2039, 2039.5, True, None, ["1 GB/s"]])
def test_a_number_without_unit_is_refused_with_an_example(text):
    with pytest.raises(ValueError, match=r"no unit.*'2039 GB/s'"):
        parse(text, Dimension.BANDWIDTH)


@pytest.mark.parametrize(
    ("text", "dimension"),
    [
        ("2039 GB", Dimension.BANDWIDTH),
        ("2039 gb/s", Dimension.BANDWIDTH),
        ("80 Gb", Dimension.BYTES),
        ("25 msec", Dimension.TIME),
        ("fast", Dimension.BANDWIDTH),
        ("", Dimension.BYTES),
        ("GB", Dimension.BYTES),
        ("$3.43", Dimension.PRICE),
        ("$3.43/month", Dimension.PRICE),
        ("3.43", Dimension.PRICE),
        ("$/h", Dimension.PRICE),
        ("1e999 B", Dimension.BYTES),
        ("nan B", Dimension.BYTES),
        ("1.2.3 GB", Dimension.BYTES),
    ],
)
def test_a_wrong_unit_is_refused_and_the_text_is_named(text, dimension):
    with pytest.raises(ValueError) as caught:
        parse(text, dimension)

    assert repr(text) in str(caught.value)


def test_gigabytes_and_gibibytes_differ_by_seven_percent():
    decimal, _ = parse("80 GB", Dimension.BYTES)
    binary, _ = parse("80 GiB", Dimension.BYTES)

    assert binary / decimal == pytest.approx(1.0737, abs=1e-4)
    assert format_value(decimal, "B") == "74.5 GiB"


@given(st.integers(0, 1000))
def test_a_percentage_is_its_share_to_the_last_bit(percent):
    assert parse(f"{percent}%", Dimension.SHARE)[0] == percent / 100


@given(
    st.floats(1e-3, 1e12),
    st.sampled_from(["GB/s", "MB/s", "GiB/s", "TB/s"]),
    st.sampled_from(["GB/s", "MB/s", "GiB/s", "TB/s"]),
)
def test_converting_there_and_back_changes_nothing(value, unit, other):
    there = convert(value, other, from_unit=unit, dimension=Dimension.BANDWIDTH)
    back = convert(there, unit, from_unit=other, dimension=Dimension.BANDWIDTH)

    assert back == pytest.approx(value, rel=1e-12)


@given(st.floats(1e-9, 1e18), st.integers(1, 6))
def test_printed_digits_are_the_nearest_number_with_that_many_digits(value, digits):
    printed = float(significant(value, digits).replace(",", ""))

    assert printed == pytest.approx(value, rel=0.5000001 * 10 ** (1 - digits))


@pytest.mark.parametrize(
    ("value", "unit", "printed"),
    [
        (0.00846, "s", "8.46 ms"),
        (2.039e12, "B/s", "2.04 TB/s"),
        (0.539, "USD/Mtok", "$0.539/Mtok"),
        (0.9843, "1", "98.4%"),
        (-0.096, "1", "−9.60%"),
        (8.0, "/s", "8.00/s"),
        (0, "s", "0 s"),
        (27.4, "ms", "27.4 ms"),
    ],
)
def test_numbers_are_printed_with_a_readable_multiple_of_their_unit(value, unit, printed):
    assert format_value(value, unit) == printed


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_quantity_is_finite(value):
    with pytest.raises(ValueError, match="finite"):
        Quantity(value=value, unit="s", basis=Basis.BOUND)


def test_a_fact_marked_unverified_says_so():
    known = Quantity(value=1, unit="s", basis=Basis.SPECIFICATION, source="a datasheet")
    guessed = Quantity(value=1, unit="s", basis=Basis.SPECIFICATION, source="unverified")

    assert known.is_verified
    assert not guessed.is_verified
