"""``runoff machines`` on a machine of one's own: what is held is shown, what was left goes."""

from __future__ import annotations

import datetime as dt
import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from flows.cli import run
from flows.host_lock import free, take

ROOT = Path(__file__).parents[3]
NOW = dt.datetime.now(dt.UTC)
LEAVES = """
import datetime as dt, os, signal, sys
from pathlib import Path
from flows.host_lock import take
now = dt.datetime.now(dt.UTC)
take(Path(sys.argv[1]), "local", campaign="lost", run="r9", now=now, expires=now)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture(autouse=True)
def locks(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RUNOFF_LOCKS", str(tmp_path / "locks"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "locks"


@pytest.fixture
def left(locks) -> None:
    """The lock of a campaign that was killed."""
    done = subprocess.run([sys.executable, "-c", LEAVES, str(locks)], cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL


@pytest.fixture
def held(locks):
    """The lock of a campaign that lives: this process."""
    holder, _ = take(
        locks, "local", campaign="here", run="r1", now=NOW, expires=NOW + dt.timedelta(hours=1)
    )
    yield
    free(locks, "local", holder.token)


def test_where_nothing_is_ours_that_is_said_with_exit_code_0(capsys, tmp_path):
    assert run(["machines"]) == 0

    assert capsys.readouterr().out == "\nNothing is ours\n"
    assert sorted(path.name for path in tmp_path.iterdir()) == []


def test_what_a_living_campaign_holds_here_is_shown_and_costs_nothing(held, capsys):
    assert run(["machines", "--release", "--yes"]) == 0

    captured = capsys.readouterr()
    assert "here r1" in captured.out
    assert "held (costs nothing)" in captured.out
    assert "1 in use or held elsewhere: left alone" in captured.err


@pytest.mark.e2e
def test_what_a_killed_campaign_left_here_is_shown_and_released(left, capsys):
    assert run(["machines", "--json"]) == 0
    (seen,) = json.loads(capsys.readouterr().out)["machines"]
    assert (seen["state"], seen["abandoned"], seen["billed"]) == ("left behind", True, False)

    assert run(["machines", "--release", "--yes"]) == 0

    assert "Nothing is ours" in capsys.readouterr().out


@pytest.mark.e2e
def test_what_was_removed_outside_of_a_run_is_written_down(left, tmp_path):
    run(["machines", "--release", "--yes"])

    lines = (tmp_path / "home" / "state" / "machines.jsonl").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["releasing", "released"]


@pytest.mark.e2e
@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2), ("", 2)])
def test_a_person_is_asked_before_anything_is_removed(left, answer, code):
    person, terminal = pty.openpty()
    with subprocess.Popen(
        [str(Path(sys.executable).parent / "runoff"), "machines", "--release"],
        stdin=terminal,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as asked:
        os.write(person, f"{answer}\n".encode())
        out, err = asked.communicate(timeout=60)
    os.close(person)
    os.close(terminal)

    assert asked.returncode == code
    assert "Remove 1 of these? [y/N]" in err
    assert ("Nothing is ours" in out) == (code == 0)


def test_a_torn_ledger_is_told_and_not_taken_for_nothing(capsys, tmp_path):
    path = tmp_path / "runs" / "a" / "r1" / "ledger.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("no JSON\n{}\n")

    assert run(["machines"]) == 8

    captured = capsys.readouterr()
    assert f"{path.relative_to(tmp_path)}:1" in captured.out
    assert "Nothing is ours" not in captured.out


def test_who_holds_a_machine_is_a_line_of_its_own_below_the_table(held, capsys):
    assert run(["machines"]) == 0

    (line,) = (s for s in capsys.readouterr().out.splitlines() if s.startswith("  local: "))
    assert "here" in line
