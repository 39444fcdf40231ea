"""The site and the table: deterministic, incremental, self-contained, complete."""

from __future__ import annotations

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

from reports.history.facts import WHAT_STATES_MEAN
from reports.history.index import INDEX
from reports.history.pages import page_name
from reports.history.site import TABLE, write_history
from reports.history.table import COLUMNS
from tests.reports.history.runs import TODAY, make_run, stepped

HOSTILE = "x<b>&\"'"


def history(root: Path, maker: str = "t"):
    return write_history(root, root / "history", maker=maker, today=TODAY)


def site(root: Path) -> dict[str, bytes]:
    return {each.name: each.read_bytes() for each in (root / "history").iterdir()}


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    stepped(tmp_path, step=1.2)
    make_run(tmp_path, 0, campaign="other", names=("B",))
    return tmp_path


def test_the_same_runs_give_the_same_bytes(runs) -> None:
    history(runs)
    first = site(runs)
    shutil.rmtree(runs / "history")
    history(runs)

    assert site(runs) == first
    assert set(first) == {"index.html", "nightly.html", "other.html", TABLE, INDEX}


def test_unchanged_runs_are_not_read_again_and_the_bytes_stay(runs) -> None:
    first = history(runs)
    before = site(runs)
    for path in runs.glob("*/*/summary.json"):
        path.chmod(0o000)
    again = history(runs)

    assert (first.read, again.read) == (12, 0)
    assert (sorted(first.made), again.made) == (["nightly.html", "other.html"], ())
    assert site(runs) == before


def test_one_new_run_is_read_alone_and_makes_its_campaigns_page(runs) -> None:
    history(runs)
    make_run(runs, 40, campaign="other", names=("B",))
    again = history(runs)
    grown = site(runs)
    shutil.rmtree(runs / "history")
    history(runs)

    assert (again.read, again.made) == (1, ("other.html",))
    assert site(runs) == grown  # as if it had been made at once


def test_a_page_that_somebody_changed_is_made_again(runs) -> None:
    history(runs)
    before = site(runs)
    (runs / "history" / "other.html").write_text("mine")

    assert history(runs).made == ("other.html",)
    assert site(runs) == before


@pytest.mark.parametrize("damage", ["{", "", '{"schema_version": 9}'])
def test_an_index_that_cannot_be_read_is_made_anew(runs, damage) -> None:
    history(runs)
    before = site(runs)
    (runs / "history" / INDEX).write_text(damage)

    assert history(runs).read == 12
    assert site(runs) == before


def test_another_release_reads_all_runs_again(runs) -> None:
    history(runs)

    assert history(runs, maker="u").read == 12


def test_a_campaign_that_is_gone_has_no_page(runs) -> None:
    history(runs)
    shutil.rmtree(runs / "other")
    history(runs)

    assert "other.html" not in site(runs)
    assert b"other" not in site(runs)["index.html"]


def test_a_page_in_place_of_a_gone_campaigns_is_left_alone(runs) -> None:
    history(runs)
    (runs / "history" / "other.html").write_text("mine")
    shutil.rmtree(runs / "other")
    history(runs)

    assert site(runs)["other.html"] == b"mine"


class Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str, str]] = []

    def handle_starttag(self, tag, attributes) -> None:
        self.found += [
            (tag, name, value or "")
            for name, value in attributes
            if name in {"href", "src", "action"} or name.startswith("on")
        ]


@pytest.mark.parametrize("page", ["index.html", "nightly.html", "other.html"])
def test_pages_need_no_script_and_fetch_nothing(runs, page) -> None:
    history(runs)
    text = site(runs)[page].decode()
    links = Links()
    links.feed(text)

    assert "default-src 'none'" in text
    assert "<script" not in text
    assert not re.search(r"url\((?!#)|@import", text)
    assert {tag for tag, _, _ in links.found} <= {"a", "use"}
    assert all("://" not in value for _, _, value in links.found)
    for tag, _, value in links.found:
        if tag == "a" and not value.startswith("#"):
            assert (runs / "history" / value).is_file()


def test_links_lead_from_any_place_to_the_reports(runs, tmp_path_factory) -> None:
    out = tmp_path_factory.mktemp("else where")
    write_history(runs, out, maker="t", today=TODAY)
    links = Links()
    links.feed((out / "other.html").read_text())
    reports = [value for _, _, value in links.found if value.endswith("report.html")]

    assert len(reports) == 1
    assert (out / reports[0]).resolve() == next(runs.glob("other/*/report.html")).resolve()


def test_the_campaigns_page_says_what_changed_and_who_was_chosen(runs) -> None:
    make_run(runs, 30, level=1.2, release="0.7.0", decision={"chosen": "C"})
    history(runs)
    text = site(runs)["nightly.html"].decode()

    assert "B, TTFT p95 at closed-4: rose by" in text
    assert "with the run of 2026-01-09" in text
    assert "other than the run before" in text
    assert "vllm 0.7.0" in text
    assert "Comparable are runs of this campaign" in text
    assert text.count('role="img"') == 1


def test_what_is_no_run_or_half_or_newer_is_listed_and_never_fatal(runs) -> None:
    for name, content in {"half": None, "foreign": "{}", "broken": "{"}.items():
        folder = make_run(runs / "odd", len(name), campaign=name).path
        (folder / "decision.json").unlink()
        (folder / "manifest.json").unlink()
        if content is not None:
            (folder / "plan.json").write_text(content)
    written = history(runs)
    text = site(runs)["index.html"].decode() + site(runs)["half.html"].decode()

    states = {run.path.split("/")[1]: run.state for run in written.runs if "odd" in run.path}
    assert states == {"half": "half", "foreign": "foreign", "broken": "broken"}
    assert all(WHAT_STATES_MEAN[state] in text for state in states.values())


def test_the_copy_of_a_run_counts_once(runs) -> None:
    shutil.copytree(runs / "other", runs / "z-backup" / "other")
    written = history(runs)

    states = [run.state for run in written.runs if run.campaign == "other"]
    assert states == ["concluded", "copy"]


def test_a_rehearsal_marks_the_pages_that_it_reaches(tmp_path) -> None:
    make_run(tmp_path, 0, plan={"rehearsal": True})
    history(tmp_path)

    assert b"REHEARSAL</div>" in site(tmp_path)["nightly.html"]
    assert b"REHEARSAL</div>" in site(tmp_path)["index.html"]
    assert b"simulated" in site(tmp_path)["nightly.html"]


def test_texts_of_runs_are_escaped(tmp_path) -> None:
    make_run(tmp_path, 0, decision={"sentence": HOSTILE}, names=("B", HOSTILE))
    make_run(tmp_path, 1, decision={"sentence": HOSTILE}, names=("B", HOSTILE))
    history(tmp_path)

    assert b"x<b>" not in site(tmp_path)["nightly.html"]


def test_every_campaign_has_a_file_of_its_own() -> None:
    names = ["a", "A b", "A/b", "index", "INDEX", "../x", "", "a" * 200, "<"]
    pages = [page_name(name) for name in names]

    assert len(set(pages)) == len(names)
    assert "index.html" not in {page.lower() for page in pages}
    assert all(re.fullmatch(r"[A-Za-z0-9~._-]+\.html", page) for page in pages)


def test_no_runs_make_an_empty_site(tmp_path) -> None:
    written = history(tmp_path)

    assert written.runs == ()
    assert b"0 campaigns over time" in site(tmp_path)["index.html"]
    assert len(pd.read_parquet(tmp_path / "history" / TABLE)) == 0


def test_pandas_reads_the_table_with_its_units(runs) -> None:
    history(runs)
    path = runs / "history" / TABLE
    frame = pd.read_parquet(path)
    schema = pq.read_schema(path)

    chosen = frame[
        (frame.campaign == "nightly")
        & (frame.candidate == "B")
        & (frame.metric == "ttft_p95_ms")
        & frame.is_decision_point
    ]
    assert len(chosen) == 11
    assert chosen["at"].is_monotonic_increasing
    assert len(set(chosen["series"])) == 1
    changed = chosen[chosen.change_ratio.notna()]
    assert [str(at.date()) for at in changed["at"]] == ["2026-01-09"]
    assert changed.change_ratio.iloc[0] == pytest.approx(1.2, abs=0.03)
    assert schema.metadata[b"runoff.history"] == b"1"
    assert [field.name for field in schema] == [name for name, *_ in COLUMNS]
    assert all(field.metadata[b"description"] for field in schema)


def test_every_column_of_the_table_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "history.md").read_text()

    for name, _, unit, meaning in COLUMNS:
        assert f"| `{name}` | {unit or '–'} | {meaning} |" in page
