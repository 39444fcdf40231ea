"""Drawings for a page: themed, named, described, and the same bytes every time."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.figures.canvas import Sheet, drawn, log_places, themed, tick
from reports.figures.labels import LONGEST, short, spread
from reports.figures.palette import FAIL, INK, look, with_variables

SHEET = Sheet(height=2.0)


def line(figure) -> None:
    """A line with a label that would be mathematics elsewhere."""
    axes = figure.subplots()
    axes.plot([1, 2], [3, 4], color=look(0).colour)
    axes.text(1, 3, "$x_1$ & <b>")


def test_the_same_drawing_is_the_same_bytes() -> None:
    made = [
        themed(drawn(line, SHEET), SHEET, name="f", title="T.", description="D") for _ in "ab"
    ]

    assert made[0] == made[1]
    assert "<metadata" not in made[0]
    assert not re.search(r"\d{4}-\d{2}-\d{2}", made[0])


def test_a_drawing_is_xml_with_a_title_a_description_and_names_of_its_own() -> None:
    svg = themed(drawn(line, SHEET), SHEET, name="f", title="A < B & C.", description="D")
    root = ET.fromstring(svg)

    assert root.get("role") == "img"
    assert root[0].text == "A < B & C."
    assert all(each.get("id", "f-").startswith("f-") for each in root.iter())


def test_text_is_text_in_the_pages_font_and_no_mathematics() -> None:
    svg = themed(drawn(line, SHEET), SHEET, name="f", title="T.", description="D")

    assert "$x_1$ &amp; &lt;b&gt;" in svg
    assert "DejaVu" not in svg


def test_colours_are_variables_of_the_page() -> None:
    svg = themed(drawn(line, SHEET), SHEET, name="f", title="T.", description="D")

    assert "var(--c1)" in svg
    assert "var(--ink)" in svg
    assert not re.search(r"#[0-9a-f]{6}", svg)
    assert with_variables(f"{INK} {FAIL}") == "var(--ink) var(--fail)"


def test_settings_of_the_caller_change_nothing_and_are_left_alone() -> None:
    import matplotlib as mpl

    expected = drawn(line, SHEET)
    with mpl.rc_context({"font.size": 30, "axes.grid": False}):
        assert drawn(line, SHEET) == expected
        assert mpl.rcParams["font.size"] == 30


def test_eighteen_candidates_look_different() -> None:
    looks = [(each.colour, each.marker, each.dash) for each in map(look, range(18))]

    assert len(set(looks)) == 18
    assert len({(marker, dash) for _, marker, dash in looks[:6]}) == 6


@pytest.mark.parametrize(("value", "text"), [(1000, "1,000"), (0.5, "0.5"), (-2, "−2")])
def test_ticks_are_plain_numbers(value, text) -> None:
    assert tick(value) == text


@given(st.floats(1e-3, 1e5), st.floats(1, 1e4))
def test_places_of_a_logarithmic_axis_lie_about_its_span(low, ratio) -> None:
    places = log_places(low, low * ratio)

    assert places == sorted(places)
    assert all(low / 1.31 <= place <= low * ratio * 1.31 for place in places)


@given(st.lists(st.floats(-0.5, 1.5), max_size=12))
def test_labels_are_apart_and_in_their_order(heights) -> None:
    places = spread(sorted(heights), 0.06)

    assert places == sorted(places)
    assert all(b - a >= 0.06 - 1e-9 for a, b in pairwise(places))
    assert all(place <= 1 + 1e-9 for place in places)


def test_a_long_name_is_cut_in_its_middle() -> None:
    assert short("B") == "B"
    assert len(short("a" * 60)) == LONGEST
    assert short("candidate-of-many-words-number-7").endswith("number-7")
