from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from flows.amazon.home import Home

ROOT = Path(__file__).parents[3]


@pytest.fixture
def home(tmp_path) -> Home:
    return Home(tmp_path / "aws")


def test_a_home_has_one_name_and_two_homes_have_two(home, tmp_path):
    assert len(home.id) == 8
    assert home.id == Home(home.path).id
    assert home.id != Home(tmp_path / "another").id


def test_campaigns_that_start_side_by_side_agree_on_the_name(tmp_path):
    with ThreadPoolExecutor(8) as threads:
        for number in range(20):
            home = Home(tmp_path / str(number))
            names = set(threads.map(lambda home: home.id, [home] * 8))
            assert names == {home.id}
            assert [path.name for path in home.path.iterdir()] == ["id"]


def test_regions_are_remembered_once(home):
    for region in ("us-east-1", "eu-west-1", "us-east-1"):
        home.remember(region)

    assert home.regions() == ("eu-west-1", "us-east-1")


def test_a_key_pair_is_made_once_and_openssh_reads_it(home):
    pair = home.run("a", "r", "us-east-1").pair("key")
    again = home.run("a", "r", "us-east-1").pair("key")

    assert pair == again
    assert pair.private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert pair.public.startswith("ssh-ed25519 ")
    assert pair.file.stat().st_mode & 0o777 == 0o600
    assert pair.file.parent.stat().st_mode & 0o077 == 0
    assert home.run("a", "r2", "us-east-1").pair("key").public != pair.public


def test_attempts_count_on_and_outlive_the_keys(home):
    run = home.run("a", "r", "us-east-1")
    run.pair("key")
    assert run.attempt("host") == 1

    run.next_attempt("host")
    run.forget()

    assert run.attempt("host") == 2
    assert not run.has("key")


def test_names_of_runs_lead_nowhere_else(home):
    path = home.run("../../etc", "passwd", "us-east-1").path

    assert path.parent == home.path / "runs"


def test_long_names_stay_names_of_files_and_stay_apart(home):
    one, other = (home.run("a" * 255, run, "us-east-1") for run in ("r1", "r2"))
    one.pair("key")

    assert other.path != one.path
    assert not other.has("key")


HOLDS = """
import os, sys
from pathlib import Path
from flows.amazon.home import RunHome
RunHome(Path(sys.argv[1])).hold("host")
print("held", flush=True)
sys.stdin.read()
"""


@pytest.mark.e2e
def test_a_run_lives_as_long_as_the_process_that_rents_for_it(home):
    run = home.run("a", "r", "us-east-1")
    assert not run.is_alive()
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(run.path)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"held\n"
    assert run.is_alive()

    process.kill()
    process.communicate()

    assert not run.is_alive()


def test_a_run_is_held_although_somebody_asks_just_then_whether_it_lives(home):
    run = home.run("a", "r", "us-east-1")
    run.path.mkdir(parents=True)
    asking = os.open(run.path / "lock", os.O_RDWR | os.O_CREAT)
    fcntl.flock(asking, fcntl.LOCK_SH)
    timer = threading.Timer(0.1, os.close, [asking])
    timer.start()

    run.hold("host")

    timer.join()
    assert run.is_held_here
    run.leave("host")
    run.forget()


def test_a_run_that_this_process_holds_lives_until_it_is_forgotten(home):
    run = home.run("a", "r", "us-east-1")
    before = len(list(Path("/proc/self/fd").iterdir()))
    run.hold("one")
    run.hold("other")
    assert run.is_alive()
    assert (run.leave("one"), run.leave("other")) == (False, True)

    run.forget()

    assert not run.is_alive()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
