"""``runoff report`` as a user meets it: pages again, elsewhere, or compared."""

from __future__ import annotations

import shutil

import pytest

from flows.cli import run
from flows.errors import ExitCode
from flows.run_directory import only_writer
from reports.conclude import conclude
from reports.render import render_run
from reports.run import layout
from reports.run.layout import RunFolder
from tests.reports.run.builder import NOW, QUICK, build_run

PAGES = (layout.REPORT_HTML, layout.REPORT_MARKDOWN, layout.JUNIT)


@pytest.fixture(scope="module")
def rendered(tmp_path_factory) -> RunFolder:
    """A run with its pages."""
    folder = build_run(tmp_path_factory.mktemp("runs"), **QUICK)
    conclude(folder, now=NOW)
    render_run(folder)
    return folder


@pytest.fixture
def folder(rendered, tmp_path) -> RunFolder:
    """The same, for one test to change."""
    return RunFolder(shutil.copytree(rendered.path, tmp_path / "run"))


def test_pages_that_were_lost_are_made_again_as_they_were(folder, capsys) -> None:
    before = {name: folder.file(name).read_bytes() for name in PAGES}
    for name in PAGES:
        folder.file(name).unlink()

    assert run(["report", str(folder.path)]) == ExitCode.DECIDED

    assert {name: folder.file(name).read_bytes() for name in PAGES} == before
    assert capsys.readouterr().err.count("wrote ") == 3


def test_a_page_can_go_elsewhere_and_the_run_is_not_touched(folder, tmp_path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.path.iterdir()}
    options = ["--html", "page.html", "--markdown", "page.md", "--junit", "page.xml"]
    places = [str(tmp_path / each) if "." in each else each for each in options]

    assert run(["report", str(folder.path), *places]) == ExitCode.DECIDED

    assert {path: path.stat().st_mtime_ns for path in folder.path.iterdir()} == before
    made = {each.suffix: each.read_bytes() for each in tmp_path.glob("page.*")}
    assert made[".html"] == folder.file(layout.REPORT_HTML).read_bytes()
    assert made[".md"] == folder.file(layout.REPORT_MARKDOWN).read_bytes()
    assert made[".xml"] == folder.file(layout.JUNIT).read_bytes()


def test_check_says_whether_the_pages_are_those_that_the_run_makes(folder, capsys) -> None:
    assert run(["report", str(folder.path), "--check"]) == ExitCode.DECIDED

    page = folder.file(layout.REPORT_MARKDOWN)
    page.write_text(page.read_text().replace("B is chosen", "C is chosen"))

    assert run(["report", str(folder.path), "--check"]) == ExitCode.EVIDENCE
    assert "report.md: not the bytes" in capsys.readouterr().err
    assert "C is chosen" in page.read_text()


def test_a_run_that_was_changed_gets_no_pages(folder, capsys) -> None:
    decision = folder.file(layout.DECISION)
    decision.write_text(decision.read_text().replace('"chosen": "B"', '"chosen": "C"'))
    manifest = folder.file(layout.MANIFEST).read_bytes()

    assert run(["report", str(folder.path)]) == ExitCode.EVIDENCE

    assert "decision.json (changed" in capsys.readouterr().err
    assert folder.file(layout.MANIFEST).read_bytes() == manifest


def test_pages_are_not_written_while_another_process_writes_the_run(folder, capsys) -> None:
    with only_writer(folder):
        assert run(["report", str(folder.path)]) == ExitCode.INFRASTRUCTURE

    assert "another process writes this run" in capsys.readouterr().err


def test_a_folder_that_is_no_run_is_named(tmp_path, capsys) -> None:
    assert run(["report", str(tmp_path)]) == ExitCode.USAGE
    assert "plan.json" in capsys.readouterr().err
