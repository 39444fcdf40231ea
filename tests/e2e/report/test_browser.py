"""The report as people see it: a real Chromium, light, dark, narrow and on paper."""

from __future__ import annotations

import shutil

import pytest
from pypdf import PdfReader

from reports.render import render_run
from tests.conftest import refuse_or_skip
from tests.reports.runs import concluded

pytestmark = pytest.mark.e2e
WIDE, NARROW, HEIGHT = 1200, 400, 900
LIGHT, DARK = "rgb(255, 255, 255)", "rgb(20, 23, 26)"


@pytest.fixture(scope="module")
def chromium():
    """A headless browser: Debian's chromium."""
    program = shutil.which("chromium")
    if program is None:
        refuse_or_skip("no chromium: install Debian's package of that name")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(
    scope="module", params=["rehearsal", "endpoint", "many", "failures", "nothing measured"]
)
def address(request, tmp_path_factory) -> str:
    """Where the page of a concluded run lies."""
    folder = concluded(tmp_path_factory.mktemp("run"), request.param)
    return render_run(folder).files["report.html"].as_uri()


@pytest.fixture
def opened(chromium, address):
    """Opens the page in a theme and a width; what it complains of and asks for is kept."""
    contexts = []

    def open_page(theme="light", width=WIDE):
        context = chromium.new_context(
            color_scheme=theme, viewport={"width": width, "height": HEIGHT}
        )
        contexts.append(context)
        page = context.new_page()
        page.complaints, page.requests = [], []
        page.on("console", lambda message: page.complaints.append(message.text))
        page.on("pageerror", lambda error: page.complaints.append(str(error)))
        page.on("request", lambda asked: page.requests.append(asked.url))
        page.goto(address)
        return page

    yield open_page
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def paper(chromium, address, tmp_path_factory) -> list[str]:
    """The words of each sheet that a reader of dark pages prints."""
    file = tmp_path_factory.mktemp("paper") / "report.pdf"
    with chromium.new_context(color_scheme="dark") as context:
        page = context.new_page()
        page.goto(address)
        page.pdf(path=file, format="A4", prefer_css_page_size=True)
    return [each.extract_text() for each in PdfReader(file).pages]


def style(page, selector, name) -> str:
    return page.eval_on_selector(selector, f"e => getComputedStyle(e).{name}")


def test_the_page_asks_for_itself_alone_and_nothing_is_refused(opened, address) -> None:
    page = opened()

    assert page.requests == [address]
    assert page.complaints == []


@pytest.mark.parametrize(("theme", "ground"), [("light", LIGHT), ("dark", DARK)])
def test_light_and_dark_follow_the_reader(opened, theme, ground) -> None:
    page = opened(theme)

    assert style(page, "body", "backgroundColor") == ground
    assert style(page, "h1", "color") != ground
    for line in page.query_selector_all("svg text"):
        assert line.evaluate("e => getComputedStyle(e).fill") not in (ground, "none")


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_makes_the_page_wider_than_the_screen(opened, width) -> None:
    page = opened(width=width)

    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize("width", [WIDE, 1440])
def test_the_verdict_table_shows_every_column_on_a_screen(opened, width) -> None:
    page = opened(width=width)
    table = page.query_selector('.wide[aria-label="Verdicts"]')

    assert table.evaluate("e => e.scrollWidth") <= table.evaluate("e => e.clientWidth")


def test_a_verdict_table_that_must_be_scrolled_says_so(opened) -> None:
    page = opened(width=NARROW)
    table = page.query_selector('.wide[aria-label="Verdicts"]')

    assert table.evaluate("e => e.scrollWidth") > table.evaluate("e => e.clientWidth")
    assert "Scroll" in table.evaluate("e => getComputedStyle(e, '::before').content")


def test_the_first_screen_has_the_outcome_its_numbers_and_what_follows(opened) -> None:
    page = opened()
    places = page.evaluate(
        """() => [...document.querySelectorAll('.outcome, .numbers, .numbers + .pair h3')]
            .map(each => each.getBoundingClientRect().top)"""
    )

    assert places
    assert max(places) < HEIGHT


def test_labels_of_figures_lie_inside_them(opened) -> None:
    page = opened()
    outside = page.evaluate(
        """() => [...document.querySelectorAll('svg')].flatMap(svg => {
            const box = svg.getBoundingClientRect();
            return [...svg.querySelectorAll('text')].map(text => [
                text.textContent, text.getBoundingClientRect()
            ]).filter(([_, r]) => r.left < box.left - 1 || r.right > box.right + 1
                || r.top < box.top - 1 || r.bottom > box.bottom + 1
            ).map(([words]) => words);
        })"""
    )

    assert outside == []


def test_words_in_figures_do_not_cover_each_other(opened) -> None:
    """Labels of single points (the smallest text) may: points lie where they lie."""
    page = opened()
    seen, covered = page.evaluate(
        """() => {
            let seen = 0;
            const covered = [...document.querySelectorAll('svg')].flatMap(svg => {
                const words = [...svg.querySelectorAll('text')]
                    .filter(text => getComputedStyle(text).fontSize !== '8.5px')
                    .map(text => [text.textContent, text.getBoundingClientRect()]);
                seen += words.length;
                return words.flatMap(([a, r], i) => words.slice(i + 1).filter(([_, s]) =>
                    r.left + 2 < s.right && s.left + 2 < r.right
                    && r.top + 4 < s.bottom && s.top + 4 < r.bottom
                ).map(([b]) => a + ' / ' + b));
            });
            return [seen, covered];
        }"""
    )

    assert covered == []
    assert seen or page.query_selector("figure") is None


def test_paper_is_light_whole_and_open(opened, paper) -> None:
    page = opened("dark")
    text = "\n".join(paper)

    page.emulate_media(media="print")
    assert style(page, "body", "backgroundColor") == LIGHT
    assert page.query_selector(".stamp").inner_text() in paper[0]
    assert f"1 / {len(paper)}" in paper[0]
    for details in page.query_selector_all("details"):
        inside = details.query_selector("td, dd, pre, li").inner_text().split()[0]
        assert inside in text


def test_a_stamp_stands_on_every_sheet_of_paper(opened, paper) -> None:
    words = opened().query_selector(".watermark").inner_text()

    assert paper
    assert all(words in each for each in paper)


def test_everything_can_be_reached_by_keyboard(opened) -> None:
    page = opened()
    page.keyboard.press("Tab")

    assert page.evaluate("document.activeElement.className") == "skip"
    scrolled = page.query_selector_all(".wide, .plot")
    assert all(each.get_attribute("tabindex") == "0" for each in scrolled)
    assert all(each.get_attribute("aria-label") for each in scrolled)
