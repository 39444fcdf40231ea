"""``runoff history`` as a user calls it."""

from __future__ import annotations

import json

from flows.cli import run
from tests.reports.history.runs import make_run, stepped


def test_it_writes_a_site_and_says_what_changed(tmp_path, capsys) -> None:
    stepped(tmp_path, step=1.2)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "plan.json").write_text("{}")

    assert run(["history", str(tmp_path)]) == 0

    told = capsys.readouterr()
    assert (tmp_path / "history" / "index.html").is_file()
    assert "12 runs (11 concluded, 1 foreign), 12 of them read" in told.out
    assert "odd: foreign: plan.json" in told.out
    assert "nightly: B, TTFT p95 at closed-4: rose by" in told.out
    assert "index.html" in told.err


def test_json_tells_runs_and_changes(tmp_path, capsys) -> None:
    make_run(tmp_path / "runs", 0)

    assert run(["history", str(tmp_path / "runs"), "--out", str(tmp_path / "s"), "--json"]) == 0

    told = json.loads(capsys.readouterr().out)
    assert told["runs"][0]["state"] == "concluded"
    assert told["made"] == ["nightly.html"]
    assert told["site"] == str(tmp_path / "s" / "index.html")


def test_a_folder_that_is_not_there_is_a_mistake(tmp_path, capsys) -> None:
    assert run(["history", str(tmp_path / "none")]) == 2
    assert "there is no such folder" in capsys.readouterr().err
