"""Killed at any step: what is left is found by whoever looks, and removed."""

from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flows.cli import run
from tests.flows.amazon.aws_endpoint import ACTING, Fault, Kill
from tests.flows.amazon.conftest import left_in

pytestmark = pytest.mark.e2e
ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def forker() -> Iterator[subprocess.Popen[str]]:
    """Children without AWS variables of the caller's shell."""
    program = subprocess.Popen(
        [sys.executable, "-m", "tests.flows.amazon.forker"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    yield program
    program.stdin.close()
    assert program.wait(30) == 0
    program.stdout.close()


@pytest.fixture
def home(environment, monkeypatch, tmp_path):
    """The same user's shell, in which runoff machines is called afterwards."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RUNOFF_LOCKS", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def lived(forker, world, environment, home):
    """Run a machine's life, killed at a step; how the process ended."""

    def killed(action: str | None, when: str = "") -> int:
        told = {
            "environment": environment,
            "state": str(home / "home" / "state"),
            "ledger": str(home / "runs" / "a" / "r1" / "ledger.jsonl"),
            "now": dt.datetime.now(dt.UTC).isoformat(),
        }
        forker.stdin.write(json.dumps(told) + "\n")
        forker.stdin.flush()
        pid = int(forker.stdout.readline())
        world.kill = Kill(action, when, pid) if action else None
        forker.stdin.write("\n")
        forker.stdin.flush()
        return int(forker.stdout.readline())

    return killed


def test_an_undisturbed_life_leaves_nothing(lived, ec2, capsys):
    assert lived(None) == 0

    assert left_in(ec2) == {}
    assert run(["machines"]) == 0
    assert "Nothing is ours" in capsys.readouterr().out


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("action", ACTING)
def test_what_a_killed_campaign_left_is_found_and_removed(lived, ec2, capsys, action, when):
    assert lived(action, when) == -signal.SIGKILL

    code = run(["machines", "--json"])
    seen = json.loads(capsys.readouterr().out)
    has_machine = "instances" in left_in(ec2)
    assert code == (10 if has_machine else 0)
    assert [each["billed"] for each in seen["machines"]] == (
        [has_machine] if left_in(ec2) else []
    )
    assert {each["state"] for each in seen["machines"]} <= {"left behind"}

    assert run(["machines", "--release", "--yes"]) == 0
    assert left_in(ec2) == {}


def test_a_lost_machine_is_shown_with_its_run_and_its_cost(lived, ec2, capsys):
    lived("TerminateInstances", "before")

    code = run(["machines", "--json"])

    (seen,) = json.loads(capsys.readouterr().out)["machines"]
    assert code == 10
    assert (seen["machine"]["campaign"], seen["machine"]["run"]) == ("a", "r1")
    assert seen["machine"]["price"]["value"] == 4.6
    assert seen["cost"]["unit"] == "USD"
    run(["machines"])
    captured = capsys.readouterr()
    assert "a r1" in captured.out
    assert "$4.60/h" in captured.out
    assert "1 billed now" in captured.err
    assert "runoff machines --release" in captured.err


def test_a_machine_is_found_by_its_tags_where_no_ledger_is_left(
    lived, ec2, capsys, home, monkeypatch
):
    lived("TerminateInstances", "before")
    monkeypatch.setenv("RUNOFF_HOME", str(home / "another"))
    monkeypatch.chdir("/")

    assert run(["machines", "--release", "--yes"]) == 10  # whose it is can only be told there
    assert "held elsewhere" in capsys.readouterr().out
    assert run(["machines", "--release", "--all", "--yes"]) == 0
    assert left_in(ec2) == {}


def test_nothing_is_removed_unasked(lived, ec2, capsys):
    lived("TerminateInstances", "before")

    assert run(["machines", "--release"]) == 2

    assert "Add --yes" in capsys.readouterr().err
    assert "instances" in left_in(ec2)


def test_what_cannot_be_asked_is_not_taken_for_gone(lived, ec2, capsys, world):
    lived("TerminateInstances", "before")
    world.faults = [Fault("*", "ExpiredToken", "The security token is expired")]

    assert run(["machines", "--release", "--yes", "--all"]) == 10

    captured = capsys.readouterr()
    assert "not confirmed" in captured.out
    assert "ExpiredToken" in captured.out
    world.faults = []
    assert run(["machines", "--release", "--yes"]) == 0
    assert left_in(ec2) == {}


def test_a_machine_that_ended_by_itself_is_no_longer_ours(lived, ec2, capsys):
    lived("TerminateInstances", "before")
    (instance,) = left_in(ec2)["instances"]
    ec2.terminate_instances(InstanceIds=[instance])  # as its dead-man switch does

    assert run(["machines"]) == 0
    assert run(["machines", "--release", "--yes"]) == 0
    assert left_in(ec2) == {}


def test_a_cloud_that_cannot_be_asked_is_told_with_exit_code_8(home, world, capsys):
    world.faults = [Fault("*", "AccessDenied")]

    assert run(["machines"]) == 8
    assert "not everything could be seen" in capsys.readouterr().err
