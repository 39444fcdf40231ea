from __future__ import annotations

import json

import pytest

from catalog.listing import exact, facts, summary
from catalog.load import load_catalog
from catalog.quantity import Basis, Dimension, Quantity, parse

CATALOG = load_catalog()


@pytest.mark.parametrize(
    ("written", "dimension", "shown"),
    [
        ("81920 MiB", Dimension.BYTES, "80 GiB"),
        ("23034 MiB", Dimension.BYTES, "22.494141 GiB"),
        ("80 GB", Dimension.BYTES, "80 GB"),
        ("3.5 GiB", Dimension.BYTES, "3.5 GiB"),
        ("2039 GB/s", Dimension.BANDWIDTH, "2.039 TB/s"),
        ("362.05 TFLOP/s", Dimension.COMPUTE, "362.05 TFLOP/s"),
        ("1410 MHz", Dimension.FREQUENCY, "1.41 GHz"),
        ("$27.44705/h", Dimension.PRICE, "$27.44705/h"),
        ("$7.20/h", Dimension.PRICE, "$7.20/h"),
        ("44 CHF/h", Dimension.PRICE, "CHF 44/h"),
        ("10.5 CHF/h", Dimension.PRICE, "CHF 10.50/h"),
        ("60%", Dimension.SHARE, "60%"),
        ("5 us", Dimension.TIME, "5 µs"),
    ],
)
def test_quantities_are_shown_to_the_last_digit_that_was_written(
    written: str, dimension: Dimension, shown: str
) -> None:
    value, unit = parse(written, dimension)

    assert exact(Quantity(value=value, unit=unit, basis=Basis.SPECIFICATION)) == shown


def test_facts_bring_basis_source_and_date_along() -> None:
    by_field = {fact.field: fact for fact in facts(CATALOG.device("nvidia-l4"))}

    achieved = by_field["achieved.bandwidth"]

    assert (achieved.value, achieved.basis) == ("240 GB/s", "assumption")
    assert achieved.source.startswith("Choose a Serving Runtime and Hardware")
    assert by_field["memory"].date == "2026-08-21"
    assert (by_field["name"].value, by_field["name"].basis) == ("nvidia-l4", "")


def test_rows_of_a_list_have_their_number_in_the_field() -> None:
    fields = {fact.field: fact.value for fact in facts(CATALOG.link("pcie4-x16"))}

    assert fields["effective.1.devices"] == "8"
    assert fields["effective.1.alpha"] == "280 µs"


def test_what_is_not_stated_is_not_listed() -> None:
    fields = {fact.field for fact in facts(CATALOG.offer("aws/p5e.48xlarge"))}

    assert "price" not in fields
    assert "notes" not in fields


def test_facts_are_strict_json() -> None:
    entry = CATALOG.device("nvidia-a100-80gb-sxm4")

    rows = [json.loads(json.dumps(fact.to_json(), allow_nan=False)) for fact in facts(entry)]

    bandwidth = next(row for row in rows if row["field"] == "memory_bandwidth")
    assert (bandwidth["value"], bandwidth["unit"]) == (2039e9, "B/s")
    assert bandwidth["basis"] == "specification"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (summary(CATALOG.device("nvidia-l4"))["memory"], "22.494141 GiB"),
        (summary(CATALOG.device("apple-m3-ultra"))["memory"], "512 GiB (unverified)"),
        (summary(CATALOG.device("google-tpu-v5e"))["memory"], "unknown"),
        (summary(CATALOG.link("nvlink3"))["effective, by devices"], "2: 207 GB/s"),
        (summary(CATALOG.link("nvlink5"))["effective, by devices"], "unknown"),
        (summary(CATALOG.model("llama-3-8b"))["parameters"], "8,030,261,248"),
        (summary(CATALOG.offer("aws/p5e.48xlarge"))["price"], "unknown"),
        (summary(CATALOG.offer("aws/g4dn.xlarge"))["price"], "$0.526/h (unverified)"),
        (summary(CATALOG.offer("verda/h100-1x"))["devices"], "1 × nvidia-h100-80gb-sxm5"),
    ],
)
def test_a_summary_says_what_is_unknown_or_unverified(line: str, shown: str) -> None:
    assert line == shown
