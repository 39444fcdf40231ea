"""The history's pages as people see them: a real Chromium, light, dark, narrow, on paper."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pypdf import PdfReader

from reports.history.site import write_history
from tests.conftest import refuse_or_skip
from tests.reports.history.runs import TODAY, make_run, stepped

pytestmark = pytest.mark.e2e
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 23, 26)"
PAGES = ("index", "nightly")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """Twenty runs with a step, a new release, cells without evidence; one that is half."""
    root = tmp_path_factory.mktemp("runs")
    stepped(root, before=12, after=5, step=1.08)
    make_run(root, 17, level=1.08, release="0.7.0", price=4.2)
    make_run(root, 18, verdict="not-steady", decision={"chosen": "C"})
    infinite = {"usd_per_1m_compliant": "infinite: no compliant token in the median launch"}
    make_run(root, 19, level=1.08, notes=infinite)
    (make_run(root, 20).path / "decision.json").unlink()
    return write_history(root, root / "history", maker="t", today=TODAY).folder


@pytest.fixture(scope="module")
def chromium() -> Iterator:
    program = shutil.which("chromium")
    if program is None:
        refuse_or_skip("no chromium: install Debian's package of that name")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture
def opened(chromium, site):
    contexts = []

    def open_page(name, theme="light", width=1200):
        context = chromium.new_context(
            color_scheme=theme, viewport={"width": width, "height": 900}
        )
        contexts.append(context)
        page = context.new_page()
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("request", lambda asked: page.requests.append(asked.url))
        page.goto((site / f"{name}.html").as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_for_itself_alone_and_nothing_is_refused(opened, site, name) -> None:
    page = opened(name)

    assert page.requests == [(site / f"{name}.html").as_uri()]
    assert page.complaints == []


@pytest.mark.parametrize(("theme", "paper"), [("light", LIGHT), ("dark", DARK)])
def test_light_and_dark_follow_the_reader(opened, theme, paper) -> None:
    page = opened("nightly", theme)
    colour = page.eval_on_selector("body", "e => getComputedStyle(e).backgroundColor")

    assert colour == paper
    for text in page.query_selector_all("svg text"):
        assert text.evaluate("e => getComputedStyle(e).fill") not in (paper, "none")


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.parametrize("width", [1200, 400])
def test_nothing_makes_a_page_wider_than_the_screen(opened, name, width) -> None:
    page = opened(name, width=width)

    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_words_of_the_figure_lie_inside_and_do_not_cover_each_other(opened) -> None:
    outside, covered = opened("nightly").evaluate(
        """() => {
            const svg = document.querySelector('svg'), box = svg.getBoundingClientRect();
            const words = [...svg.querySelectorAll('text')]
                .map(text => [text.textContent, text.getBoundingClientRect()]);
            return [
                words.filter(([, r]) => r.left < box.left - 1 || r.right > box.right + 1
                    || r.top < box.top - 1 || r.bottom > box.bottom + 1).map(([w]) => w),
                words.flatMap(([a, r], i) => words.slice(i + 1).filter(([, s]) =>
                    r.left + 2 < s.right && s.left + 2 < r.right
                    && r.top + 4 < s.bottom && s.top + 4 < r.bottom).map(([b]) => a + b)),
            ];
        }"""
    )

    assert (outside, covered) == ([], [])


def test_links_lead_to_the_campaign_and_to_a_report(opened) -> None:
    page = opened("index")
    page.click("text=nightly")
    assert page.query_selector("h1").inner_text() == "nightly over time"

    page.click("tbody th a")
    assert page.url.endswith("/report.html")


def test_paper_is_light_and_whole(opened, tmp_path) -> None:
    page = opened("nightly", "dark")
    page.pdf(path=tmp_path / "history.pdf", format="A4", prefer_css_page_size=True)
    pages = PdfReader(tmp_path / "history.pdf").pages
    text = " ".join(" ".join(each.extract_text() for each in pages).split())

    page.emulate_media(media="print")
    assert page.eval_on_selector("body", "e => getComputedStyle(e).backgroundColor") == LIGHT
    assert "HISTORY" in pages[0].extract_text()
    assert "other than the run before" in text
    assert "Hodges-Lehmann" in text
