"""A job on a host is started once, outlives any connection, and never its own purpose."""

from __future__ import annotations

import fcntl
import json
import os
import secrets
import shutil
import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from flows.errors import LaunchError
from flows.launch.ending import Step, steps
from flows.launch.processes import process_of
from flows.remote.holding import end_jobs
from flows.remote.job import RemoteJob, begin
from flows.remote.job_folder import Order, state_of, this_process, write
from tests.flows.remote.hosts import until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


@pytest.fixture
def started(box) -> Callable[..., RemoteJob]:
    """A shell script as a job of a name of its own."""

    def start(script: str, **wanted: object) -> RemoteJob:
        host = wanted.pop("host", box)
        name = wanted.pop("name", f"test-{secrets.token_hex(4)}")
        return begin(host, name, ["/bin/sh", "-c", script], **wanted)

    return start


def test_a_job_ends_with_its_code_and_leaves_what_it_printed(started, tmp_path):
    job = started("echo one; echo two >&2; exit 7", mirror=tmp_path / "log")

    job.wait(30.0)
    job.look_to_the_end()

    assert (job.stage, job.seen["exit_code"], job.seen["why"]) == ("ended", 7, "ended")
    assert (tmp_path / "log").read_text() == "one\ntwo\n"


def test_what_launches_that_are_over_have_left_is_removed_and_what_runs_stays(started, box):
    launches = Path(box.equipped.root, "launches")
    for name in ("lives", "over", "orphan"):
        (launches / name).mkdir(parents=True)
        (launches / name / "server.log").write_text("a prompt")
    lives = started("exec sleep 60", name="server-lives")
    over = started("exit 0", name="server-over")
    over.wait(30.0)
    lost = started("exec sleep 60", name="server-orphan")
    os.kill(lost.seen["keeper"][0], signal.SIGKILL)
    until(lambda: process_of(lost.seen["pid"]) is None)  # its guard has ended it

    swept = box.ask("sweep", root=box.equipped.root)

    assert set(swept) == {"over", "orphan"}
    assert [path.name for path in launches.iterdir()] == ["lives"]
    assert lives.look()["stage"] == "running"
    assert not Path(over.folder).exists()
    lives.end()
    lives.forget()
    assert box.ask("sweep", root=box.equipped.root) == ["lives"]


def test_a_jobs_death_by_a_signal_is_told(started):
    job = started("kill -9 $$")

    assert job.wait(30.0)["exit_code"] == -9


def test_a_program_that_is_not_there_is_told_as_on_this_machine(box):
    with pytest.raises(LaunchError, match="there is no such program") as caught:
        begin(box, f"test-{secrets.token_hex(4)}", ["/no/such/program"])

    assert caught.value.kind == "program not found"


def test_the_same_name_is_the_same_job_however_often_it_is_started(started, tmp_path):
    script = f"echo x >> {tmp_path}/starts; exec sleep 60"

    first = started(script, name="the-same")
    second = started(script, name="the-same")

    assert first.seen["pid"] == second.seen["pid"]
    first.end()
    third = started(script, name="the-same")
    assert third.stage == "ended"
    assert (tmp_path / "starts").read_text() == "x\n"


def test_a_job_goes_on_while_its_connection_is_cut_and_is_found_again(
    shared_host, proxied, remote, started, tmp_path
):
    proxy = proxied(shared_host)
    host = remote(shared_host, port=proxy.port)
    script = f"echo x >> {tmp_path}/starts; until test -e {tmp_path}/go; do sleep 0.05; done"
    job = started(script, host=host, mirror=tmp_path / "log")

    proxy.cut()
    (tmp_path / "go").touch()

    assert job.wait(30.0)["exit_code"] == 0
    assert (tmp_path / "starts").read_text() == "x\n"


@pytest.mark.parametrize("more_bytes", [200, 1200, 2400, 3600])
def test_a_start_that_is_cut_at_any_place_happens_once(cut_host, started, tmp_path, more_bytes):
    host = cut_host(more_bytes)

    job = started(f"echo x >> {tmp_path}/starts; exec sleep 60", host=host)

    until((tmp_path / "starts").exists)
    job.end()
    assert (tmp_path / "starts").read_text() == "x\n"


def test_an_end_reaches_everything_that_the_job_has_started(started, tmp_path):
    script = f"setsid sh -c 'echo $$ > {tmp_path}/child; exec sleep 60' & exec sleep 60"
    job = started(script)
    until(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text())
    child = int((tmp_path / "child").read_text())

    ended = job.end()

    assert (ended["why"], ended["left"]) == ("stopped", [])
    assert process_of(child) is None
    assert process_of(ended["pid"]) is None


def test_a_job_is_stopped_where_the_disk_takes_no_word_of_it(box, started):
    job = started("exec sleep 600")
    Path(job.folder, "stop.json").mkdir()  # it cannot be written

    assert job.end()["why"] == "stopped"

    assert process_of(job.seen["pid"]) is None


def test_a_start_that_another_has_begun_is_waited_for(box):
    """The lost connection's agent may be about to start what the next one is asked for."""
    folder = Path(box.equipped.root, "jobs", "begun-by-another")
    order = {"argv": ["true"], "cwd": "/", "env": {}, "log": f"{folder}/log", "lease_s": 60.0}
    asked = Order.from_json({**order, "manner": [], "cleanup": [], "cpus": []})
    box.ask("order", folder=str(folder), asked=asked.to_json())
    with (folder / "lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the other's keeper, which has not written yet
        said = {"stage": "running", "keeper": this_process(), "mark": "m"}
        later = threading.Timer(1.0, write, [folder / "state.json", said])
        later.start()

        assert box.ask("start", folder=str(folder))["stage"] == "running"

    later.join()
    shutil.rmtree(folder)


def test_an_order_that_was_never_started_keeps_no_secret(box, shared_host):
    folder = Path(box.equipped.root, "jobs", "never-started")
    box.ask("order", folder=str(folder), asked={"env": {"TOKEN": "planted-secret"}})

    assert end_jobs(box, except_for="none") == ()

    assert not folder.exists()


def test_a_job_is_asked_first_in_the_manner_that_was_ordered(started, tmp_path):
    script = "trap 'echo asked; exit 5' INT; echo up; while :; do sleep 0.05; done"
    job = started(script, manner=steps("SIGINT", 10.0, "SIGKILL"), mirror=tmp_path / "log")
    until(lambda: job.look_to_the_end() or "up" in (tmp_path / "log").read_text())

    ended = job.end()

    assert (ended["exit_code"], ended["signals"]) == (5, ["SIGINT"])


def test_a_job_that_will_not_go_is_killed(started, tmp_path):
    script = "trap '' TERM; echo up; while :; do sleep 0.05; done"
    job = started(script, mirror=tmp_path / "log")
    until(lambda: job.look_to_the_end() or "up" in (tmp_path / "log").read_text())

    ended = job.end(
        [Step(signal="SIGTERM", patience_s=0.1), Step(signal="SIGKILL", patience_s=9)]
    )

    assert (ended["exit_code"], ended["signals"]) == (-9, ["SIGTERM", "SIGKILL"])


def test_a_job_that_nobody_asks_for_ends_when_its_lease_does(box, started):
    job = started("exec sleep 600", lease_s=0.5)
    box.let_go(job.folder)

    until(lambda: box.ask("stage", folder=job.folder) == "ended")

    assert job.look()["why"] == "expired"
    assert process_of(job.seen["pid"]) is None


def test_a_lease_that_somebody_removed_ends_too(box, started):
    job = started("exec sleep 600", lease_s=0.5)
    box.let_go(job.folder)
    Path(job.folder, "lease").unlink()

    until(lambda: box.ask("stage", folder=job.folder) == "ended")


def test_a_job_whose_keeper_is_killed_is_ended_by_its_guard(box, started):
    job = started("exec sleep 600")
    keeper, pid = job.seen["keeper"][0], job.seen["pid"]

    os.kill(keeper, signal.SIGKILL)

    until(lambda: process_of(pid) is None)
    assert job.look()["stage"] == "lost"
    order = Path(job.folder, "order.json")
    order.write_text("planted-secret")  # as one that was killed a moment earlier leaves it
    end_jobs(box, except_for="none")
    assert not order.exists()
    box.let_go(job.folder)


def test_a_job_is_interrupted_when_the_one_that_it_needs_has_ended(box, started, tmp_path):
    server = started("exec sleep 600")
    script = "trap 'exit 6' INT; echo up; while :; do sleep 0.05; done"
    load = started(script, while_lives=server.folder, mirror=tmp_path / "log")
    until(lambda: load.look_to_the_end() or "up" in (tmp_path / "log").read_text())

    server.end()

    assert load.wait(30.0)["exit_code"] == 6


def test_a_secret_of_the_environment_stays_in_no_file_of_the_host(started, shared_host):
    job = started("test -n $TOKEN && exec sleep 600", env={"TOKEN": "planted-secret"})

    found = [
        path
        for path in Path(job.folder).rglob("*")
        if path.is_file() and b"planted-secret" in path.read_bytes()
    ]

    job.end()
    assert found == []


def test_what_a_job_leaves_is_for_our_eyes_only(started):
    job = started("umask 000; exec sleep 60")

    modes = {path.name: path.stat().st_mode & 0o077 for path in Path(job.folder).glob("*.json")}

    job.end()
    assert Path(job.folder).stat().st_mode & 0o077 == 0
    assert set(modes.values()) == {0}


def test_an_order_is_read_back_as_it_was_written():
    order = Order(
        argv=("a", "b"),
        cwd="/",
        env={"X": "y"},
        log="/log",
        lease_s=9.0,
        manner=steps("SIGINT", 2.0, "SIGTERM"),
        cleanup=("c",),
        cpus=(1, 2),
    )

    assert Order.from_json(json.loads(json.dumps(order.to_json()))) == order


def test_a_folder_without_a_job_is_absent(tmp_path):
    assert state_of(tmp_path)["stage"] == "absent"
