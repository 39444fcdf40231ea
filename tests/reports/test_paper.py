"""The paper verdict's pages: one file, readable by all, the same bytes every time."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from catalog.load import load_campaign, load_catalog, shipped_catalog
from catalog.schema import Candidate
from catalog.screen import screen, screen_all_offers
from deploy_templates.registry import load_runtimes
from reports.lines import best
from reports.paper import Paper, paper_html, paper_markdown

TODAY = dt.date(2026, 9, 1)
NAMES = ("canonical", "exercise", "offline_cpu")
VOID = {"meta", "br", "link", "img", "hr"}
PLANTED = '<script>alert("x")</script> & [link](javascript:0) | `cell`'


class Page(HTMLParser):
    """Tags with their attributes, headings in order, and tags left open."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def named(self, *names: str) -> list[dict[str, str | None]]:
        return [attributes for tag, attributes in self.tags if tag in names]


@pytest.fixture(scope="module")
def catalog():
    return load_catalog()


@pytest.fixture(scope="module")
def paper(catalog):
    """The paper of a shipped campaign, with changes to the campaign on request."""
    runtimes = load_runtimes()

    def build(name: str = "canonical", *, vote=screen, limit: int = 30, **changes) -> Paper:
        campaign = load_campaign(shipped_catalog() / "campaigns" / f"{name}.yaml")
        campaign = campaign.model_copy(update=changes)
        result = vote(campaign, catalog, runtimes, TODAY)
        return Paper(
            question=campaign.question,
            screen=result,
            listed=best(result, limit),
            catalog=catalog,
            digest="0123456789abcdef" * 4,
            date=TODAY,
            version="9.9.9",
        )

    return build


@pytest.fixture(scope="module", params=[*NAMES, "all offers", "nothing survives"])
def page(request, paper) -> str:
    """The HTML of each kind of verdict."""
    if request.param == "all offers":
        return paper_html(paper(vote=screen_all_offers))
    if request.param == "nothing survives":
        only = Candidate(name="only", device="nvidia-l4", runtime="vllm", version="0.6.3")
        return paper_html(paper(candidates=(only,)))
    return paper_html(paper(request.param))


def test_a_page_fetches_nothing_and_runs_nothing(page: str) -> None:
    parsed = Page(page)
    style = page[page.index("<style>") : page.index("</style>")]
    links = [tag.get("href") or "" for tag in parsed.named("a")]

    assert parsed.named("script", "link", "img", "iframe", "object", "svg", "form") == []
    assert "url(" not in style
    assert "@import" not in style
    assert all(link.startswith("#") for link in links)
    assert not any(name.startswith("on") for _, tag in parsed.tags for name in tag)


def test_a_content_security_policy_proves_it(page: str) -> None:
    policies = [
        tag["content"]
        for tag in Page(page).named("meta")
        if tag.get("http-equiv") == "Content-Security-Policy"
    ]

    assert len(policies) == 1
    assert policies[0].startswith("default-src 'none'; style-src 'unsafe-inline'")


def test_a_page_is_well_formed_and_small(page: str) -> None:
    parsed = Page(page)

    assert parsed.open == []
    assert len(page.encode()) < 400_000


def test_there_is_one_h1_and_no_heading_level_is_skipped(page: str) -> None:
    levels = [int(tag[1]) for tag, _ in Page(page).tags if re.fullmatch("h[1-6]", tag)]

    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(below <= above + 1 for above, below in pairwise(levels))


def test_tables_have_captions_and_every_heading_cell_a_scope(page: str) -> None:
    parsed = Page(page)

    assert len(parsed.named("table")) == len(parsed.named("caption")) > 0
    assert all(cell.get("scope") in ("col", "row") for cell in parsed.named("th"))


def test_a_reader_with_a_keyboard_can_skip_and_scroll(page: str) -> None:
    parsed = Page(page)
    wide = [tag for tag in parsed.named("div") if tag.get("class") == "wide"]
    ids = [tag["id"] for _, tag in parsed.tags if tag.get("id")]

    assert parsed.named("html") == [{"lang": "en"}]
    assert parsed.named("a")[0]["href"] == "#content"
    assert all(tag.get("tabindex") == "0" and tag.get("aria-label") for tag in wide)
    assert len(ids) == len(set(ids))


def test_the_stamp_is_estimate_whatever_the_verdict(page: str) -> None:
    assert '<span class="stamp">ESTIMATE</span>' in page


def test_colour_is_never_alone(page: str) -> None:
    """Whatever is coloured as good or bad also says so in a word."""
    coloured = re.findall(r'<span class="(pass|fail|warn)">([^<]+)</span>', page)
    words = {"pass": ("pass",), "fail": ("reject",), "warn": ("unlikely", "unknown")}

    assert coloured
    assert all(any(word in text for word in words[kind]) for kind, text in coloured)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_values_give_the_same_bytes(paper, name: str) -> None:
    assert paper_html(paper(name)) == paper_html(paper(name))
    assert paper_markdown(paper(name)) == paper_markdown(paper(name))


def test_text_of_a_file_cannot_become_markup(paper) -> None:
    planted = paper(question=PLANTED)
    hostile = replace(planted.screen.candidates[0], device_title=PLANTED)
    candidates = (hostile, *planted.screen.candidates[1:])
    planted = replace(planted, screen=replace(planted.screen, candidates=candidates))
    planted = replace(planted, listed=best(planted.screen, 30))

    html, markdown = paper_html(planted), paper_markdown(planted)

    assert "<script" not in html
    assert html.count("&lt;script&gt;") >= 2
    assert "<script" not in markdown
    assert "[link](" not in re.sub(r"\\\[", "", markdown)
    assert len({row.count("|") for row in table(markdown, "| Dimension |")}) == 1


def table(markdown: str, heading: str) -> list[str]:
    """The rows of one Markdown table, with escaped bars taken out."""
    lines = markdown.replace("\\|", "").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith(heading))
    end = next(n for n, line in enumerate(lines[start:], start) if not line.startswith("|"))
    return lines[start:end]


def test_markdown_tables_are_complete(paper) -> None:
    markdown = paper_markdown(paper())

    for heading in ("| Dimension |", "| Gate |", "| Of |", "| Kind |"):
        rows = table(markdown, heading)
        assert len(rows) > 2
        assert len({row.count("|") for row in rows}) == 1


def test_table_one_has_the_lessons_tiers_beside_our_basis(paper) -> None:
    markdown = paper_markdown(paper())

    for tier in (
        "Direct Verified Specification | specification (s)",
        "Calculated Analytical Lower Bound | bound (b)",
        "Assumed Operational Parameter (OPEN) | assumption (a)",
        "Empirical Observable Requiring Measurement (OPEN) | measurement (m)",
    ):
        assert tier in markdown


@pytest.mark.parametrize(
    ("dimension", "cells"),
    [
        ("Usable memory per device", ["256", "74.51 GiB; 80 GiB s", "74.51", "22.35"]),
        ("Peak memory bandwidth", ["614.4 GB/s", "2.039 TB/s", "2× 2.039 TB/s", "300 GB/s"]),
        ("Assumed achieved bandwidth", ["62%", "76%", "76%", "80%"]),
        ("Memory floor (C=16)", ["21.21", "20.71 GiB; 17.08 GiB b", "12.10", "20.71"]),
        ("Data moved per step", ["18.34 GB; 17.29 GB b", "18.34", "9.171", "18.34"]),
        ("Decode step lower bound", ["48.27 ms; 27.41", "11.83 ms; 8.461", "5.917", "76.43"]),
        ("Prefill compute lower bound", ["222.9", "83.60 ms; 46.7 ms b", "41.80", "222.9"]),
        ("Hourly price", ["$4.50/h", "$3.67/h", "$7.34/h", "$0.850/h"]),
        ("Verdict on paper", ["reject", "primary", "cost-inefficient", "reject"]),
        ("p95 TTFT, p95 ITL", ["not measured"] * 4),
    ],
)
def test_table_one_has_both_columns_of_the_lessons_rows(
    paper, dimension: str, cells: list[str]
) -> None:
    rows = table(paper_markdown(paper()), "| Dimension |")
    row = next(line for line in rows if line.startswith(f"| {dimension}"))
    found = row.split(" | ")[1:5]

    assert [cell in text for cell, text in zip(cells, found, strict=True)] == [True] * 4


def test_the_exercises_four_questions_are_answered_from_its_numbers(paper) -> None:
    markdown = paper_markdown(paper("exercise"))
    answers = markdown.partition("## The four questions")[2].partition("## What stays OPEN")[0]
    first, second, third, fourth = re.split(r"### \d\. ", answers)[1:]

    assert "floor 19.21 GiB" in first
    assert "KV to spare 3.144 GiB" in first
    assert "Rejected by the memory bound: none." in first
    assert "step bytes 16.73 GB" in second
    assert all(step in second for step in ("28.85 ms", "69.72 ms", "11.15 ms"))
    assert "Rejected by the bandwidth bound: B." in second
    assert "prefill 8.292 TFLOP, t_prefill 41.46 ms" in third
    assert "C (NVIDIA A100 PCIe 80GB, vllm 0.6.3) is the paper's choice" in fourth
    assert "A passes with a thin margin at gate 2 (bandwidth): 28.85 ms of 30 ms" in fourth
    assert "A bound proves what is impossible" in fourth


def test_why_measure_is_said_with_the_numbers_of_the_choice(paper) -> None:
    reasons = paper_markdown(paper()).partition("### Why load testing")[2]

    assert "the 13.2 ms per token that B has left" in reasons
    assert "the 1,000 ms to the first token after 11 of them" in reasons
    assert "At 8 requests/s the utilisation of B would be 1.43" in reasons
    assert "95% of requests keep every limit" in reasons


def test_every_fact_stands_with_its_source(paper) -> None:
    rows = table(paper_markdown(paper()), "| Of |")[2:]

    assert any("2.039 TB/s s | specification | aiconfigurator" in row for row in rows)
    assert all(row.split(" | ")[4].strip() not in ("", "–") for row in rows)


def test_the_first_six_of_all_offers_have_a_column_and_the_rest_are_listed(paper) -> None:
    markdown = paper_markdown(paper(vote=screen_all_offers, limit=12))

    assert len(table(markdown, "| Dimension |")[0].split("|")) == 2 + 1 + 6 + 2
    assert len(table(markdown, "| candidate |")) == 2 + 12
    assert "more candidates are in the JSON output" in markdown
