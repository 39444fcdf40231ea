from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from flows.errors import InfrastructureError
from flows.host_lock import free, holdings, lock_folder, take

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
EXPIRES = NOW + dt.timedelta(hours=2)
ROOT = Path(__file__).parents[2]
HOLDS = f"""
import datetime as dt, sys, time
from pathlib import Path
from flows.host_lock import take
now = dt.datetime.fromisoformat({NOW.isoformat()!r})
take(Path(sys.argv[1]), "local", campaign="theirs", run="r7", now=now,
     expires=now + dt.timedelta(hours=2))
print("held", flush=True)
"""
WAITS = "sys.stdin.read()"
LEAVES_A_CHILD = """
import os
child = os.fork()
if child == 0:
    os.close(1)
    sys.stdin.read()
    os._exit(0)
print(child, flush=True)
sys.stdin.read()
"""


@contextmanager
def holding(folder: Path, then: str = WAITS) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the host until its end."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS + then, str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def taken(folder: Path, now: dt.datetime = NOW):
    return take(folder, "local", campaign="ours", run="r1", now=now, expires=EXPIRES)


def test_a_free_host_is_taken_given_back_and_taken_again(tmp_path):
    for _ in range(2):
        holder, before = taken(tmp_path)

        assert before is None
        assert holdings(tmp_path) == (holder,)
        assert holder.is_alive
        free(tmp_path, "local", holder.token)
        assert holdings(tmp_path) == ()


def test_this_process_does_not_hold_a_host_twice(tmp_path):
    holder, _ = taken(tmp_path)

    with pytest.raises(InfrastructureError, match="campaign 'ours'"):
        taken(tmp_path)

    free(tmp_path, "local", holder.token)


def test_hosts_are_held_apart(tmp_path):
    ours, _ = taken(tmp_path)
    other, _ = take(tmp_path, "b", campaign="x", run="r", now=NOW, expires=EXPIRES)

    assert {holder.host for holder in holdings(tmp_path)} == {"local", "b"}
    free(tmp_path, "local", ours.token)
    assert holdings(tmp_path) == (other,)
    free(tmp_path, "b", other.token)


@pytest.mark.e2e
def test_a_second_campaign_is_told_who_holds_the_host_since_when_and_what_to_do(tmp_path):
    with holding(tmp_path) as other:
        with pytest.raises(InfrastructureError) as refused:
            taken(tmp_path)

        message = str(refused.value)
        assert "campaign 'theirs'" in message
        assert f"pid {other.pid} (python" in message
        assert "run r7" in message
        assert "since 2026-11-30 12:00:00 UTC" in message
        assert "until 2026-11-30 14:00:00 UTC" in message
        assert f"kill {other.pid}" in message


RACES = f"""
import datetime as dt, sys
from pathlib import Path
from flows.errors import InfrastructureError
from flows.host_lock import take
now = dt.datetime.fromisoformat({NOW.isoformat()!r})
print("ready", flush=True)
sys.stdin.readline()
try:
    take(Path(sys.argv[1]), "local", campaign="c", run="r", now=now, expires=now)
except InfrastructureError as error:
    print("refused", error.seen, flush=True)
else:
    print("held", flush=True)
sys.stdin.readline()
"""


@pytest.mark.e2e
def test_of_many_that_want_a_host_at_once_one_gets_it(tmp_path):
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACES, str(tmp_path)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        for _ in range(6)
    ]
    try:
        assert {racer.stdout.readline() for racer in racers} == {"ready\n"}
        for racer in racers:
            racer.stdin.write("go\n")
        told = [racer.stdout.readline() for racer in racers]
    finally:
        for racer in racers:
            racer.kill()
            racer.communicate()

    assert [line.split()[0] for line in told].count("held") == 1
    assert [line.split()[0] for line in told].count("refused") == 5


@pytest.mark.e2e
def test_a_holder_whose_time_is_over_still_holds_and_is_said_to_be_late(tmp_path):
    with (
        holding(tmp_path),
        pytest.raises(InfrastructureError, match="its time was over at 2026-11-30 14:00:00"),
    ):
        taken(tmp_path, NOW + dt.timedelta(hours=3))


@pytest.mark.e2e
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_the_lock_of_a_dead_process_is_taken_over_and_told(tmp_path, how):
    with holding(tmp_path) as other:
        other.send_signal(how)
        other.wait()
        (left,) = holdings(tmp_path)
        assert not left.is_alive

        holder, before = taken(tmp_path)

    assert before == left
    assert (before.campaign, before.pid) == ("theirs", other.pid)
    free(tmp_path, "local", holder.token)


@pytest.mark.e2e
def test_a_child_that_a_killed_campaign_left_behind_is_named(tmp_path):
    with holding(tmp_path, LEAVES_A_CHILD) as other:
        child = int(other.stdout.readline())
        other.kill()
        other.wait()

        with pytest.raises(InfrastructureError, match=f"is dead, but .* kill {child}"):
            taken(tmp_path)
        os.kill(child, signal.SIGKILL)


@pytest.mark.e2e
def test_the_lock_of_another_living_process_is_not_given_back_for_it(tmp_path):
    with holding(tmp_path) as other:
        (theirs,) = holdings(tmp_path)

        with pytest.raises(InfrastructureError, match=f"Stop it first: kill {other.pid}"):
            free(tmp_path, "local", theirs.token)

        assert holdings(tmp_path) == (theirs,)


@pytest.mark.e2e
def test_what_a_dead_process_left_is_cleared_by_its_token(tmp_path):
    with holding(tmp_path) as other:
        other.kill()
        other.wait()
        (theirs,) = holdings(tmp_path)

        free(tmp_path, "local", "another token")
        assert holdings(tmp_path) == (theirs,)
        free(tmp_path, "local", theirs.token)

    assert holdings(tmp_path) == ()


@pytest.mark.parametrize("text", ["", "no json\n", '{"pid": 1}\n'])
def test_a_lock_file_without_a_holder_is_a_free_host(tmp_path, text):
    (tmp_path / "runoff-local.lock").write_text(text)

    holder, before = taken(tmp_path)

    assert before is None
    free(tmp_path, "local", holder.token)


def test_every_user_of_the_machine_may_take_the_lock_afterwards(tmp_path):
    old = os.umask(0o077)
    try:
        holder, _ = taken(tmp_path)
    finally:
        os.umask(old)

    assert (tmp_path / "runoff-local.lock").stat().st_mode & 0o777 == 0o666
    free(tmp_path, "local", holder.token)


def test_a_link_in_the_locks_place_is_refused(tmp_path):
    (tmp_path / "precious").write_text("data")
    (tmp_path / "runoff-local.lock").symlink_to(tmp_path / "precious")

    with pytest.raises(InfrastructureError, match="RUNOFF_LOCKS=DIR"):
        taken(tmp_path)

    assert (tmp_path / "precious").read_text() == "data"


def test_the_folder_of_locks_can_be_named(tmp_path):
    assert lock_folder({"RUNOFF_LOCKS": str(tmp_path)}) == tmp_path
    assert lock_folder({}).is_dir()
