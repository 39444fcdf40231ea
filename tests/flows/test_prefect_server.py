"""Prefect's server as a process of ours: it starts, ends, and leaves no orphan."""

from __future__ import annotations

import base64
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request

import pytest

from flows.errors import InfrastructureError
from flows.launch.processes import process_of
from flows.prefect_server import PASSWORD, QUIET, PrefectServer, Shown, end_orphans

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("prefect")]


def test_it_answers_in_a_session_of_its_own_and_ends(tmp_path):
    server = PrefectServer(tmp_path, os.environ)
    url = server.wait()
    (record,) = tmp_path.glob("server-*.json")
    process = process_of(json.loads(record.read_text())["server"]["pid"])

    server.stop()

    assert url.startswith("http://127.0.0.1:")
    assert process.session == process.pid
    assert process_of(process.pid) is None
    assert not list(tmp_path.glob("server-*.json"))


def test_a_shown_server_asks_for_the_password_that_was_stated(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {**os.environ, PASSWORD: "user:secret"}
    server = PrefectServer(tmp_path, environment, Shown(port=port))

    def asked(**headers):
        request = urllib.request.Request(f"{server.url}/version", headers=headers)
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
                request
            ) as a:
                return a.status
        except urllib.error.HTTPError as error:
            return error.code

    try:
        server.wait()
        known = base64.b64encode(b"user:secret").decode()

        assert asked() == 401
        assert asked(authorization=f"Basic {known}") == 200
    finally:
        server.stop()


def test_it_ends_at_once_when_its_starter_is_killed(tmp_path):
    words = (
        "import os, signal, sys; from pathlib import Path; from flows.prefect_server import *;"
        "server = PrefectServer(Path(sys.argv[1]), os.environ);"
        "os.kill(os.getpid(), signal.SIGKILL)"
    )
    starter = subprocess.run([sys.executable, "-P", "-c", words, str(tmp_path)], check=False)
    (record,) = tmp_path.glob("server-*.json")
    server = json.loads(record.read_text())["server"]["pid"]

    gone_within_s = time.monotonic() + 60
    while process_of(server) is not None and time.monotonic() < gone_within_s:
        time.sleep(0.02)

    assert starter.returncode == -signal.SIGKILL
    assert process_of(server) is None
    assert end_orphans(tmp_path) == ()  # nothing is left for the next start


def sleeper():
    return subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(100)"], start_new_session=True
    )


def record_of(folder, server, owner):
    def identity(pid):
        process = process_of(pid)
        return {"pid": pid, "started_ticks": process.started_ticks if process else 1}

    facts = {"server": identity(server.pid), "owner": owner or identity(os.getpid())}
    path = folder / f"server-{server.pid}.json"
    path.write_text(json.dumps(facts))
    return path


def test_a_server_whose_starter_is_gone_is_ended_at_the_next_start(tmp_path):
    with sleeper() as server:
        record = record_of(tmp_path, server, {"pid": 2**22 + 1, "started_ticks": 1})

        assert end_orphans(tmp_path) == (server.pid,)
        assert server.wait() == -15
        assert not record.exists()


def test_the_server_of_a_campaign_that_runs_is_left_alone(tmp_path):
    with sleeper() as server:
        record = record_of(tmp_path, server, None)

        assert end_orphans(tmp_path) == ()
        assert record.exists()
        server.kill()


def test_a_later_process_of_the_same_id_is_no_orphan(tmp_path):
    with sleeper() as server:
        path = record_of(tmp_path, server, {"pid": 2**22 + 1, "started_ticks": 1})
        facts = json.loads(path.read_text())
        facts["server"]["started_ticks"] += 1
        path.write_text(json.dumps(facts))

        assert end_orphans(tmp_path) == ()
        assert server.poll() is None
        server.kill()


def test_one_that_ends_at_once_is_told_with_its_log(tmp_path):
    (tmp_path / "prefect.db").mkdir()

    with pytest.raises(InfrastructureError, match=r"server\.log"):
        PrefectServer(tmp_path, os.environ).wait(30)


def test_what_prefect_makes_of_a_slow_server_is_not_between_our_lines():
    """Fifty candidates on ten hosts make one slow: it could not give out a slot in time."""
    code = (
        "from prefect._internal.concurrency import logger\n"
        "from prefect.logging import get_logger\n"
        "from prefect.logging.configuration import setup_logging\n"
        "setup_logging()\n"
        "logger.error('slow'); get_logger('client').error('slow')\n"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={**os.environ, **QUIET},
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout + done.stderr == ""
