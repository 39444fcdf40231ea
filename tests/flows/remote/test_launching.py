"""A server on a host over SSH comes up, is proven ours, and goes, as one here does."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from deploy_templates.plan import Failure, LaunchPlan
from flows.errors import LaunchError
from flows.launch.processes import process_of
from flows.launch.running import Running
from flows.remote.launching import remote_launch
from flows.remote.lost import HostLostError
from tests.flows.launch.conftest import gguf, llama_plan, port, rehearsal_plan, script_plan
from tests.flows.remote.hosts import until

__all__ = ["gguf", "llama_plan", "port", "rehearsal_plan", "script_plan"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


@pytest.fixture
def launched(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    running: list[Running] = []

    def begin(host, plan: LaunchPlan, name: str = "here-0", **options: Any) -> Running:
        settings = {"environment": {}, "secrets": {}, "limit_s": 60.0, **options}
        running.append(remote_launch(host, plan, tmp_path / "launch", name=name, **settings))
        return running[-1]

    yield begin
    for each in running:
        each.stop()


def test_a_server_on_a_host_is_ready_ours_and_stopped(
    far_host, remote, rehearsal_plan, launched, tmp_path
):
    host = remote(far_host)
    plan = rehearsal_plan()

    running = launched(host, plan)
    facts = running.facts

    assert facts.ownership.how == "by process"
    assert facts.pid in facts.ownership.pids
    assert facts.first_token.completion_tokens == 1
    assert sum(each.duration_ns or 0 for each in facts.phases) == facts.start_ns
    assert facts.port == plan.port
    assert running.is_healthy()
    assert not running.url.endswith(f":{plan.port}")

    stopped = running.stop()

    assert (stopped.exit_code, stopped.port_is_free) == (0, True)
    assert Path(stopped.log).name == "server.log.zst"
    assert process_of(facts.pid) is None
    assert (tmp_path / "launch" / "launch.json").exists()


def sealed_log(path: str) -> str:
    with pa.CompressedInputStream(pa.OSFile(path), "zstd") as plain:
        return plain.read().decode()


def test_nothing_of_a_stopped_server_stays_on_the_host(box, shared_host, script_plan, launched):
    running = launched(box, script_plan("print('some words of its log', flush=True)"))

    stopped = running.stop()

    assert "some words of its log" in sealed_log(stopped.log)
    assert not [path for path in (shared_host.root / "launches").rglob("*") if path.is_file()]
    assert not (shared_host.root / "jobs" / "server-here-0").exists()


def test_a_server_that_ends_at_its_start_is_told_with_its_last_words(
    box, script_plan, launched
):
    plan = script_plan("import sys; sys.exit('the disk of weights is missing')")

    with pytest.raises(LaunchError, match="the disk of weights is missing") as caught:
        launched(box, plan)

    assert "server.log.zst" in caught.value.do


def test_a_known_failure_in_the_log_ends_the_wait(box, script_plan, launched):
    known = Failure(pattern="no memory", error="out of memory", means="it is full", do="Less")
    plan = script_plan("print('no memory', flush=True); time.sleep(600)", failures=(known,))

    with pytest.raises(LaunchError, match=r"it is full \(no memory\)") as caught:
        launched(box, plan)

    assert caught.value.kind == "out of memory"


def test_a_program_that_is_not_there_is_told_with_the_host(box, script_plan, launched):
    plan = replace(script_plan(), argv=("/no/such/server",))

    with pytest.raises(LaunchError, match="host 'box', /no/such/server: there is no such"):
        launched(box, plan)


def test_a_port_that_somebody_holds_on_the_host_is_refused(box, script_plan, launched, port):
    with (
        socket.create_server(("127.0.0.1", port)),
        pytest.raises(LaunchError, match=f"port {port} is taken already") as caught,
    ):
        launched(box, script_plan())

    assert caught.value.kind == "port in use"


def test_a_server_that_dies_is_noticed_with_the_reason(box, script_plan, launched):
    running = launched(box, script_plan())
    os.kill(running.pid, signal.SIGKILL)

    def is_dead() -> bool:
        try:
            running.check()
        except LaunchError as error:
            return "it was killed" in error.seen
        return False

    until(is_dead)


def test_a_secret_reaches_the_server_and_no_file(
    box, shared_host, script_plan, launched, tmp_path
):
    words = "print('it is', os.environ['HF_TOKEN'], flush=True)"
    plan = replace(script_plan(words), secret_env=("HF_TOKEN",))

    running = launched(box, plan, secrets={"HF_TOKEN": "hf_planted_here"})
    stopped = running.stop()

    assert "it is ***" in sealed_log(stopped.log)
    for folder in (tmp_path, shared_host.folder):
        for path in folder.rglob("*"):
            if path.is_file():
                assert b"hf_planted_here" not in path.read_bytes(), path


def test_the_server_sees_the_hosts_environment_and_not_ours(
    box, shared_host, script_plan, launched
):
    plan = script_plan("print(sorted(os.environ), flush=True)")

    running = launched(box, plan, environment={"CUDA_VISIBLE_DEVICES": "7"})
    names = sealed_log(running.stop().log)

    assert "'PATH'" in names
    assert "CUDA_VISIBLE_DEVICES" not in names
    assert "PYTHONPATH" not in names
    assert "RUNOFF_REMOTE" not in names


@pytest.mark.parametrize("more_bytes", [1_000, 20_000, 40_000])
def test_a_connection_that_is_cut_while_a_server_starts_loses_nothing(
    cut_host, script_plan, launched, more_bytes
):
    plan = script_plan("print('started once', flush=True); time.sleep(0.5)")

    stopped = launched(cut_host(more_bytes), plan).stop()

    assert sealed_log(stopped.log).count("started once") == 1


def test_a_connection_that_is_cut_while_a_server_runs_is_made_anew(
    shared_host, proxied, remote, script_plan, launched
):
    proxy = proxied(shared_host)
    running = launched(remote(shared_host, port=proxy.port), script_plan())

    proxy.cut()
    running.check()

    proxy.cut()
    stopped = running.stop()
    assert (stopped.signals, stopped.port_is_free) == (("SIGTERM",), True)


def test_a_host_that_goes_for_good_is_told_and_the_server_there_ends_by_itself(
    make_host, remote, script_plan, tmp_path
):
    there = make_host()
    host = remote(there, patience_s=0.3)
    running = remote_launch(
        host,
        script_plan(),
        tmp_path / "launch",
        name="left",
        environment={},
        secrets={},
        lease_s=2.0,
    )
    there.stop()

    def is_lost() -> bool:
        try:
            running.check()
        except LaunchError as error:
            return error.kind == "host lost"
        return False

    until(is_lost)
    with pytest.raises(HostLostError):
        running.stop()
    until(lambda: process_of(running.pid) is None)


def test_two_hosts_serve_on_the_same_port_at_the_same_time(
    far_host, make_host, remote, rehearsal_plan, tmp_path
):
    other = make_host("other", type(far_host))
    plan = rehearsal_plan()
    running = [
        remote_launch(
            remote(host), plan, tmp_path / f"{number}", name="x", environment={}, secrets={}
        )
        for number, host in enumerate((far_host, other))
    ]

    assert running[0].facts.port == running[1].facts.port
    assert running[0].pid != running[1].pid
    assert all(each.is_healthy() for each in running)
    assert [each.stop().exit_code for each in running] == [0, 0]
