"""Colours that everybody can tell apart, and templates that never guess."""

from __future__ import annotations

import re

import pytest
from jinja2 import UndefinedError

from reports.html import TEMPLATES, escape_markdown, html_page, with_tags

STYLE = (TEMPLATES / "page.css").read_text(encoding="utf-8")
THEMES = ("light", "dark", "print")
TEXT = ("ink", "muted", "pass", "fail", "warn", "link")


def colours(theme: str) -> dict[str, str]:
    """The variables of one theme: the first block is light, then dark, then print."""
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    return dict(re.findall(r"--(\w+): (#[0-9a-f]{6})", blocks[THEMES.index(theme)]))


def luminance(colour: str) -> float:
    """Relative luminance by WCAG 2."""
    channels = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("background", ["paper", "sheet"])
@pytest.mark.parametrize("text", TEXT)
def test_text_has_a_contrast_of_4_5_on_every_background(theme, background, text) -> None:
    theme_colours = colours(theme)

    assert contrast(theme_colours[text], theme_colours[background]) >= 4.5


@pytest.mark.parametrize("theme", THEMES)
def test_marks_at_the_side_of_a_verdict_have_a_contrast_of_3(theme) -> None:
    theme_colours = colours(theme)

    for mark in ("pass", "fail", "warn"):
        assert contrast(theme_colours[mark], theme_colours["paper"]) >= 3


def test_black_on_white_has_a_contrast_of_21() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


def test_print_is_light_and_opens_what_is_folded() -> None:
    printed = STYLE.partition("@media print")[2]

    assert colours("print") == colours("light")
    assert "details::details-content" in printed
    assert "table-header-group" in printed
    assert "counter(page)" in printed


def test_a_value_that_a_template_lacks_is_an_error_and_not_a_blank() -> None:
    with pytest.raises(UndefinedError):
        html_page("paper.html.j2", {"stamp": "ESTIMATE"})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a|b", "a\\|b"),
        ("<b>", "&lt;b&gt;"),
        ("[x](y)", "\\[x](y)"),
        ("two\nlines", "two lines"),
        (3, "3"),
    ],
)
def test_markdown_shows_values_literally(text, shown) -> None:
    assert escape_markdown(text) == shown


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("2.039 TB/s s", ["specification"]),
        ("8.461 ms b, 11.83 ms a ≤ 25 ms", ["bound", "assumption"]),
        ("16.6 GB/s m", ["measurement"]),
        ("25 ms", []),
        ("≤ 25 ms", []),
        ("a bound is a proof", []),
    ],
)
def test_a_tag_is_marked_as_one_and_a_unit_is_none(text: str, tags: list[str]) -> None:
    assert re.findall(r'<abbr class="tag" title="(\w+)">', with_tags(text)) == tags


def test_what_stands_beside_a_tag_is_escaped() -> None:
    assert with_tags("<b> s").startswith("&lt;b&gt; <abbr")
