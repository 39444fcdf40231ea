"""The pages of a run: well formed, reachable for everybody, fetching nothing, never cut off."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from itertools import pairwise

import pytest

from reports.html import TEMPLATES
from reports.run import layout
from tests.reports.pages_of import parsed
from tests.reports.runs import HOSTILE, KINDS
from tests.reports.test_html import THEMES, colours, contrast

SERIES = [f"c{number}" for number in range(1, 7)]
every_kind = pytest.mark.parametrize("kind", list(KINDS))


@every_kind
def test_every_kind_of_run_has_all_three_pages(page_of_kind, kind) -> None:
    pages = page_of_kind(kind)

    assert set(pages) == {layout.REPORT_HTML, layout.REPORT_MARKDOWN, layout.JUNIT}
    assert all(pages.values())


@every_kind
def test_a_page_is_well_formed_with_one_first_heading_and_none_skipped(
    page_of_kind, kind
) -> None:
    page = parsed(page_of_kind(kind)[layout.REPORT_HTML])
    levels = [int(each.tag[1]) for each in page.find("h1", "h2", "h3", "h4", "h5", "h6")]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(later - earlier <= 1 for earlier, later in pairwise(levels))
    assert page.find("html")[0].attributes["lang"] == "en"
    assert page.find("a")[0].text == "Skip to the content"


@every_kind
def test_names_are_given_once_and_every_link_inside_the_page_leads_somewhere(
    page_of_kind, kind
) -> None:
    text = page_of_kind(kind)[layout.REPORT_HTML]
    names = re.findall(r'\bid="([^"]+)"', text)
    wanted = re.findall(r'href="#([^"]+)"', text) + re.findall(r"url\(#([^)]+)\)", text)
    labels = [
        name
        for found in re.findall(r'aria-labelledby="([^"]+)"', text)
        for name in found.split()
    ]

    assert len(names) == len(set(names))
    assert {*wanted, *labels} <= set(names)


@every_kind
def test_every_heading_of_a_table_says_what_it_heads_and_every_row_is_whole(
    page_of_kind, kind
) -> None:
    page = parsed(page_of_kind(kind)[layout.REPORT_HTML])

    for table in page.find("table"):
        assert table.find("caption")
        assert all(each.attributes.get("scope") in ("col", "row") for each in table.find("th"))
        widths = {
            sum(int(c.attributes.get("colspan", "1")) for c in row.find("th", "td"))
            for row in table.find("tr")
        }
        assert len(widths) == 1


@every_kind
def test_every_figure_has_a_sentence_a_description_and_its_numbers_in_a_table(
    page_of_kind, kind
) -> None:
    page = parsed(page_of_kind(kind)[layout.REPORT_HTML])

    for figure in page.find("figure"):
        (svg,) = figure.find("svg")
        title, described = svg.find("title")[0].text, svg.find("desc")[0].text
        assert svg.attributes["role"] == "img"
        assert title == figure.find("h3")[0].text
        assert title.endswith(".")
        assert len(described) > 40
        assert figure.find("details")[0].find("table")
        assert re.search(r"\bR = \d", figure.text)


@every_kind
def test_nothing_is_fetched_and_nothing_runs(page_of_kind, kind) -> None:
    text = page_of_kind(kind)[layout.REPORT_HTML]

    assert "default-src 'none'" in text
    assert "<script" not in text
    assert not re.search(r"<[^>]+\s(?:src|href|xlink:href|action|data)=\"(?!#)", text)
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    assert not re.search(r"<[^>]+\son\w+=", text)


@every_kind
def test_a_page_holds_no_placeholder_and_no_python(page_of_kind, kind) -> None:
    for text in page_of_kind(kind).values():
        for wrong in ("nan", "{{", "{%", "TODO", "Basis.", "Number(", "inf ms", "0x"):
            assert not re.search(rf"(?<![\w-]){re.escape(wrong)}(?![\w-])", text), wrong
        assert not re.search(r"\bNone\b(?! complies)", text)


@every_kind
def test_a_page_is_small(page_of_kind, kind) -> None:
    limit = 700_000 if kind == "many" else 400_000

    assert len(page_of_kind(kind)[layout.REPORT_HTML].encode()) < limit


@pytest.mark.parametrize("kind", ["rehearsal", "exploratory", "nothing measured"])
def test_a_run_that_cannot_be_trusted_says_so_at_the_top_and_on_every_screen(
    report_of_kind, page_of_kind, kind
) -> None:
    stamp = report_of_kind(kind).stamp
    page = parsed(page_of_kind(kind)[layout.REPORT_HTML])
    marks = [each for each in page.find("div") if each.attributes.get("class") == "watermark"]

    assert stamp in ("REHEARSAL", "EXPLORATORY", "ESTIMATE")
    assert page.find("span")[0].text == stamp
    assert [mark.text for mark in marks] == [stamp]
    assert page.find("title")[0].text.startswith(f"{stamp}: ")
    assert f"**{stamp}**" in page_of_kind(kind)[layout.REPORT_MARKDOWN]


def test_every_number_of_a_rehearsal_is_called_a_simulation(page_of_kind) -> None:
    text = page_of_kind("rehearsal")[layout.REPORT_MARKDOWN]
    verdicts = text.partition("## Verdict table")[2].partition("##")[0]

    assert " sim (" in verdicts.replace("\N{NO-BREAK SPACE}", " ")
    assert not re.search(r"\d m\b", verdicts.replace("\N{NO-BREAK SPACE}", " "))


def test_words_of_others_open_no_tag_no_link_and_no_column(page_of_kind) -> None:
    pages = page_of_kind("hostile")
    page = parsed(pages[layout.REPORT_HTML])
    first = pages[layout.REPORT_MARKDOWN].splitlines()[0]

    assert page.find("h1")[0].text == HOSTILE
    assert not page.find("b")
    assert first == r"# x&lt;b&gt;\|\`\[y](z)\`$m^2$&amp;amp;"
    assert ET.fromstring(pages[layout.JUNIT]).tag == "testsuites"


@every_kind
def test_markdown_tables_have_a_cell_for_every_column(page_of_kind, kind) -> None:
    width = 0
    for line in page_of_kind(kind)[layout.REPORT_MARKDOWN].splitlines():
        cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
        assert cells == width or not width or not cells
        width = cells


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("name", SERIES)
def test_lines_and_their_labels_are_readable_on_every_background(theme, name) -> None:
    theme_colours = colours(theme)

    assert contrast(theme_colours[name], theme_colours["paper"]) >= 4.5


def test_a_page_names_only_colours_that_its_style_has(page_of_kind) -> None:
    text = page_of_kind("many")[layout.REPORT_HTML]
    style = (TEMPLATES / "page.css").read_text(encoding="utf-8")
    used = set(re.findall(r"var\(--([\w-]+)\)", text))

    assert used <= set(re.findall(r"--([\w-]+):", style))
    assert set(SERIES) <= used
    assert not re.findall(r"#0[12][0-9a-f]{2}01", text)


def test_another_process_makes_the_same_bytes(concluded_run, page_of_kind) -> None:
    program = (
        "import sys, pathlib\n"
        "from reports.render import made_pages\n"
        "from reports.run.layout import RunFolder\n"
        "made = made_pages(RunFolder(pathlib.Path(sys.argv[1])))\n"
        "sys.stdout.write(''.join(made[name] for name in sorted(made)))\n"
    )
    mine = "".join(text for _, text in sorted(page_of_kind("failures").items()))

    for seed in ("1", "2"):
        other = subprocess.run(
            [sys.executable, "-c", program, str(concluded_run("failures").path)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
            text=True,
        )
        assert other.stdout == mine


@every_kind
def test_a_dash_says_why_it_stands_there(page_of_kind, kind) -> None:
    page = parsed(page_of_kind(kind)[layout.REPORT_HTML])
    bare = {
        (table.find("caption")[0].text, row.find("th", "td")[0].text, place)
        for table in page.find("table")
        for row in table.find("tr")
        for place, cell in enumerate(row.find("th", "td"))
        if cell.text == "–"
    }

    assert bare == set()
