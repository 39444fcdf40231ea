"""Where a deployed flow works."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from prefect.states import Completed

from flows.work_folder import at_work, work_in


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    (tmp_path / "start").mkdir()
    monkeypatch.chdir(tmp_path / "start")
    monkeypatch.delenv("RUNOFF_WORK_FOLDER", raising=False)
    yield
    os.environ.pop("RUNOFF_WORK_FOLDER", None)


def where():
    return Completed(message=str(Path.cwd()))


def test_a_flow_works_in_the_folder_that_its_pull_step_names(tmp_path):
    work_in(directory=str(tmp_path))

    assert at_work(where).message == str(tmp_path)


def test_without_such_a_step_it_works_where_it_was_started(tmp_path):
    assert at_work(where).message == str(tmp_path / "start")


def test_what_the_step_returns_is_not_taken_by_prefect_for_a_place_of_modules(tmp_path):
    assert "directory" not in work_in(directory=str(tmp_path))
    assert Path.cwd() == tmp_path / "start"


def test_programs_that_the_flow_starts_are_not_told_of_the_step(tmp_path):
    work_in(directory=str(tmp_path))
    at_work(where)

    assert "RUNOFF_WORK_FOLDER" not in os.environ


def test_a_folder_that_is_not_there_ends_the_run_with_8_and_says_what_to_do(tmp_path):
    work_in(directory=str(tmp_path / "gone"))

    state = at_work(where)

    assert state.is_failed()
    assert state.message.startswith("exit code 8: ")
    assert str(tmp_path / "gone") in state.message
    assert "--folder" in state.message
