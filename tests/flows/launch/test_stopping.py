from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from deploy_templates.plan import LaunchPlan, Stop
from flows.errors import LaunchError
from flows.launch.clock import SystemClock
from flows.launch.ports import listeners
from flows.launch.processes import Family, process_of
from flows.launch.running import Running

pytestmark = pytest.mark.e2e
FORK = """
if os.fork() == 0:
    {child}
    print("grandchild", os.getpid(), flush=True)
    while True:
        time.sleep(1)
"""


@contextmanager
def busy(running: Running, tokens: int) -> Iterator[socket.socket]:
    """A long streamed answer that has begun."""
    body = json.dumps(
        {
            "model": running.facts.served_model,
            "prompt": "Hello there",
            "max_tokens": tokens,
            "ignore_eos": True,
            "stream": True,
        }
    )
    head = "POST /v1/completions HTTP/1.1\r\nhost: here\r\nconnection: close\r\n"
    head += f"content-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", running.facts.port), timeout=30) as client:
        client.sendall((head + body).encode())
        seen = b""
        while seen.count(b"data: ") < 2:
            seen += client.recv(1 << 16)
        reader = threading.Thread(target=_drained, args=(client,))
        reader.start()
        yield client
        reader.join()


def _drained(client: socket.socket) -> None:
    try:
        while client.recv(1 << 16):
            pass
    except ConnectionResetError:
        pass


def grandchild(tmp_path: Path) -> int:
    log = (tmp_path / "launch" / "server.log").read_text()
    return next(int(line.split()[1]) for line in log.splitlines() if "grandchild" in line)


def test_a_busy_server_that_waits_for_its_clients_takes_a_second_signal(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    plan = rehearsal_plan(
        steps={"decode_base_ms": 500}, lifecycle={"term_waits_for_clients": True}
    )
    stop = Stop(signal="SIGTERM", grace_s=0.3, second_signal="SIGTERM")
    running = started(replace(plan, stop=stop))
    with busy(running, 400):
        stopped = running.stop()

    assert stopped.signals == ("SIGTERM", "SIGTERM")
    assert stopped.exit_code == 1
    assert stopped.port_is_free


@pytest.mark.parametrize("form", ["binary", "embedded"])
def test_a_busy_llama_server_is_stopped_by_its_plans_signals(
    form: str, llama_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    plan = llama_plan(form, max_model_len=2048)
    running = started(replace(plan, stop=replace(plan.stop, grace_s=0.3)))
    with busy(running, 2000):
        stopped = running.stop()

    assert stopped.signals[0] == "SIGTERM"
    assert process_of(running.pid) is None
    assert listeners("127.0.0.1", plan.port) == ()


def test_a_server_deaf_to_everything_else_is_killed(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    plan = script_plan("for number in (15, 2): signal.signal(number, signal.SIG_IGN)")
    stop = Stop(signal="SIGTERM", grace_s=0.2, second_signal="SIGKILL")
    stopped = started(replace(plan, stop=stop)).stop()

    assert (stopped.signals, stopped.exit_code) == (("SIGTERM", "SIGKILL"), -signal.SIGKILL)


@pytest.mark.parametrize(
    "child",
    [
        "signal.signal(15, signal.SIG_IGN)",
        "os.setpgid(0, 0)",
        "os.setsid(); signal.signal(15, signal.SIG_IGN)",
    ],
    ids=["in the group", "in a group of its own", "in a session of its own"],
)
def test_a_grandchild_goes_too_wherever_it_has_gone(
    child: str,
    script_plan: Callable[..., LaunchPlan],
    started: Callable[..., Running],
    tmp_path: Path,
) -> None:
    plan = script_plan(FORK.format(child=child))
    stop = Stop(signal="SIGTERM", grace_s=0.2, second_signal="SIGKILL")
    running = started(replace(plan, stop=stop))
    pid = grandchild(tmp_path)

    assert pid in running.processes()
    running.stop()
    assert process_of(pid) is None


def test_what_a_dead_leader_leaves_behind_is_found_and_ended(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    running = started(script_plan(FORK.format(child="os.setsid()")))
    pid = grandchild(tmp_path)
    os.kill(running.pid, signal.SIGKILL)
    os.waitid(os.P_PID, running.pid, os.WEXITED | os.WNOWAIT)

    with pytest.raises(LaunchError, match=r"it was killed \(-9, SIGKILL\)"):
        running.check()
    assert process_of(pid) is not None
    stopped = running.stop()
    assert process_of(pid) is None
    assert stopped.signals == ("SIGTERM",)
    assert stopped.exit_code == -signal.SIGKILL


def test_the_second_stop_says_how_the_first_one_went(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    running = started(rehearsal_plan())

    assert running.stop() == running.stop()
    assert not running.is_healthy()


def test_ctrl_c_while_stopping_kills_what_would_have_been_asked(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    class Impatient(SystemClock):
        is_over = False

        def sleep(self, duration_s: float) -> None:
            if self.is_over:
                self.is_over = False
                raise KeyboardInterrupt
            super().sleep(duration_s)

    clock = Impatient()
    plan = script_plan("signal.signal(15, signal.SIG_IGN)")
    running = started(replace(plan, stop=Stop(grace_s=60.0)), clock=clock)
    clock.is_over = True
    with pytest.raises(KeyboardInterrupt):
        running.stop()

    assert process_of(running.pid) is None
    assert running.stop().exit_code == -signal.SIGKILL


def test_without_a_guard_there_is_no_server(
    script_plan: Callable[..., LaunchPlan],
    started: Callable[..., Running],
    command_lines: Callable[[], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    plan = script_plan()
    monkeypatch.setattr("flows.launch.guard.sys.executable", str(tmp_path / "absent"))

    with pytest.raises(FileNotFoundError):
        started(plan)
    assert not [line for line in command_lines() if f"server.py {plan.port}" in line]


def test_a_guard_that_cannot_do_its_duty_ends_the_start(
    script_plan: Callable[..., LaunchPlan],
    started: Callable[..., Running],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plan = script_plan()
    monkeypatch.setattr("flows.launch.guard.sys.executable", "/bin/false")

    with pytest.raises(LaunchError, match="has ended itself") as caught:
        started(plan)
    assert caught.value.kind == "no guard"
    assert listeners(plan.host, plan.port) == ()


def test_a_flood_of_output_neither_hangs_the_server_nor_the_wait(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    running = started(
        script_plan(
            "for _ in range(400): sys.stdout.write('x' * 99_999 + chr(10) + 'y' * 50_000)\n"
            "sys.stdout.write(chr(10))"
        )
    )
    written = (tmp_path / "launch" / "server.log").stat().st_size
    running.stop()
    packed = tmp_path / "launch" / "server.log.zst"
    log = pa.CompressedInputStream(str(packed), "zstd").read()

    assert written == len(log) == 400 * 150_000 + 1
    assert packed.stat().st_size < written / 100


def test_a_rehearsal_engine_that_writes_megabytes_for_each_request_goes_on(
    rehearsal_plan: Callable[..., LaunchPlan], started: Callable[..., Running]
) -> None:
    running = started(rehearsal_plan(lifecycle={"log_bytes_per_request": 4_000_000}))
    for _ in range(3):
        with busy(running, 4):
            pass

    assert running.is_healthy()


def test_a_plans_cleanup_runs_after_the_stop_and_says_what_went_wrong(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    proof = tmp_path / "cleaned"
    word = f"open({str(proof)!r}, 'w').close(); raise SystemExit('nothing to remove')"
    stopped = started(script_plan(cleanup=(sys.executable, "-c", word))).stop()

    assert proof.exists()
    assert stopped.cleanup == f"{sys.executable} ended with code 1: nothing to remove"


LAUNCHER = """
import os, sys
from pathlib import Path
from deploy_templates.plan import read_plan
from flows.launch.start import launch

plan = read_plan(Path(sys.argv[1]).read_text(), sys.argv[1])
launch(plan, Path(sys.argv[2]), environment=os.environ, secrets={})
print("ready", flush=True)
os.kill(os.getpid(), int(sys.argv[3]))
"""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_server_does_not_outlive_whoever_launched_it(
    number: signal.Signals, script_plan: Callable[..., LaunchPlan], tmp_path: Path
) -> None:
    plan = script_plan(FORK.format(child="os.setsid(); signal.signal(15, signal.SIG_IGN)"))
    stop = Stop(signal="SIGTERM", grace_s=0.2, second_signal="SIGKILL")
    (tmp_path / "plan.json").write_text(replace(plan, stop=stop).text())
    words = [str(tmp_path / "plan.json"), str(tmp_path / "launch"), str(int(number))]
    launcher = subprocess.run(
        [sys.executable, "-c", LAUNCHER, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    left = json.loads((tmp_path / "launch" / "launch.json").read_text())
    family = Family(leader=left["pid"], mark=left["mark"])
    until_s = time.monotonic() + 30
    while family.members() and time.monotonic() < until_s:
        time.sleep(0.02)

    assert (launcher.stdout, launcher.returncode) == ("ready\n", -number)
    assert family.members() == ()
    assert listeners(plan.host, plan.port) == ()


DYING = """
import os
from unittest.mock import patch

patch("{moment}", side_effect=lambda *_, **__: os.kill(os.getpid(), 9)).start()
"""


@pytest.mark.parametrize(
    "moment", ["flows.launch.child.Child", "flows.launch.guard.Guard.follow"]
)
def test_a_launcher_killed_in_the_moment_of_the_start_leaves_no_server(
    moment: str,
    script_plan: Callable[..., LaunchPlan],
    command_lines: Callable[[], list[str]],
    tmp_path: Path,
) -> None:
    plan = script_plan("signal.signal(15, signal.SIG_IGN)")
    stop = Stop(signal="SIGTERM", grace_s=0.2, second_signal="SIGKILL")
    (tmp_path / "plan.json").write_text(replace(plan, stop=stop).text())
    words = [str(tmp_path / "plan.json"), str(tmp_path / "launch"), "9"]
    dying = DYING.format(moment=moment)
    launcher = subprocess.run(
        [sys.executable, "-c", dying + LAUNCHER, *words], check=False, timeout=60
    )
    until_s = time.monotonic() + 30
    mine = f"server.py {plan.port}"
    while any(mine in line for line in command_lines()) and time.monotonic() < until_s:
        time.sleep(0.02)

    assert launcher.returncode == -signal.SIGKILL
    assert not [line for line in command_lines() if mine in line]


def test_a_log_that_cannot_be_compressed_is_kept_as_it_was(
    script_plan: Callable[..., LaunchPlan], started: Callable[..., Running], tmp_path: Path
) -> None:
    running = started(script_plan("print('kept', flush=True)"))
    (tmp_path / "launch" / "server.log.zst").mkdir()
    stopped = running.stop()

    assert stopped.log == str(tmp_path / "launch" / "server.log")
    assert Path(stopped.log).read_text() == "kept\n"
    assert running.stop() == stopped
