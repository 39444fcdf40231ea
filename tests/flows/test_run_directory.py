"""What the verbs say of a directory that is no run, or not yet, or just being written."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from flows.cli import run
from flows.errors import ExitCode
from flows.run_directory import only_writer
from reports.conclude import conclude
from reports.render import render_run
from reports.run import layout
from reports.run.layout import RunFolder
from tests.reports.run.builder import NOW, QUICK, build_run

SIGNED = ["--by", "Ada", "--role", "Lead", "--statement", "Approved for the chat"]
RECORD = ["export", "--decision-record", "new.md"]
VERBS = (["report"], ["whatif"], ["diff"], ["signoff", *SIGNED], RECORD)


@pytest.fixture(scope="module")
def half(tmp_path_factory) -> RunFolder:
    """A run that was never concluded."""
    return build_run(tmp_path_factory.mktemp("half"), **QUICK)


@pytest.fixture(scope="module")
def ahead(tmp_path_factory) -> Iterator[RunFolder]:
    """A concluded run with a file that its manifest does not name yet, being written."""
    folder = build_run(tmp_path_factory.mktemp("ahead"), **QUICK)
    conclude(folder, now=NOW)
    render_run(folder)
    (folder.path / "new.json").write_text("{}")
    with only_writer(folder):
        yield folder


def said(capsys, verb: list[str], path: object) -> tuple[int, str]:
    name, *options = verb
    runs = [str(path)] * (2 if name == "diff" else 1)
    return run([name, *runs, *options]), " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("verb", VERBS, ids=[verb[0] for verb in VERBS])
def test_a_run_that_was_never_concluded_is_to_be_gone_on_with(verb, half, capsys) -> None:
    code, told = said(capsys, verb, half.path)

    assert code == ExitCode.EVIDENCE, told
    assert "begun, and never concluded" in told
    assert f"--resume {half.path}" in told


@pytest.mark.parametrize("verb", [["check"], *VERBS], ids=lambda verb: verb[0])
def test_a_run_that_another_process_writes_is_told_to_be_written(verb, ahead, capsys) -> None:
    code, told = said(capsys, verb, ahead.path)

    assert code == ExitCode.INFRASTRUCTURE, told
    assert "another process writes this run" in told


@pytest.mark.parametrize("verb", [["check"], ["report"]], ids=lambda verb: verb[0])
def test_a_directory_that_is_not_there_is_told_to_be_absent(verb, tmp_path, capsys) -> None:
    code, told = said(capsys, verb, tmp_path / "latest")

    assert code != 0
    assert "there is no such directory" in told
    assert layout.PLAN not in told


@pytest.mark.parametrize("verb", [["check"], *VERBS], ids=lambda verb: verb[0])
def test_a_run_in_a_bucket_is_to_be_brought_here_first(verb, capsys) -> None:
    code, told = said(capsys, verb, "s3://team-runs/serving/small/r1")

    assert code == ExitCode.USAGE, told
    assert "s3://team-runs/serving/small/r1: it lies in a bucket" in told
    assert "aws s3 cp --recursive s3://team-runs/serving/small/r1 RUN" in told
