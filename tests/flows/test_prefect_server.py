"""Prefect's server as a process of ours: it starts, ends, and leaves no orphan."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from flows.errors import InfrastructureError
from flows.launch.processes import process_of
from flows.prefect_server import PrefectServer, end_orphans

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
