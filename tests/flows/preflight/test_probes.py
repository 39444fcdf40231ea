from __future__ import annotations

import datetime as dt
import os
import socket
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from flows.host_lock import free, take
from flows.preflight import probes
from flows.preflight.probes import real_probes
from flows.system.here import facts_here

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


def test_a_folder_that_is_yet_to_be_made_has_the_room_of_the_one_above(tmp_path):
    assert probes.room(tmp_path / "a" / "b") == pytest.approx(probes.room(tmp_path), rel=0.1)
    assert probes.disk(tmp_path / "a" / "b") == tmp_path.stat().st_dev


def test_what_is_kept_is_the_sum_of_all_files_below(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "one").write_bytes(b"x" * 10)
    (tmp_path / "a" / "b" / "two").write_bytes(b"x" * 32)

    assert probes.kept(tmp_path) == 42
    assert probes.kept(tmp_path / "none") == 0


def test_a_folder_that_can_be_made_and_written_is_fine_and_none_is_made(tmp_path):
    assert probes.unwritable(tmp_path / "a" / "b") is None
    assert list(tmp_path.iterdir()) == []


def test_a_file_in_the_folders_place_and_a_system_that_takes_no_files_are_refused(tmp_path):
    (tmp_path / "file").write_text("")

    assert probes.unwritable(tmp_path / "file" / "runs") == f"{tmp_path}/file is no folder"
    assert probes.unwritable(probes.Path("/proc/runs"))


def test_a_port_that_somebody_holds_is_taken_and_told_by_whom():
    with socket.create_server(("127.0.0.1", 0)) as held:
        seen, do = probes.taken("127.0.0.1", held.getsockname()[1])

        assert f"pid {os.getpid()}" in seen
        assert f"kill {os.getpid()}" in do


class Models(BaseHTTPRequestHandler):
    def do_GET(self):
        text = (
            b'{"data": [{"id": "m"}]}' if self.headers["Authorization"] == "Bearer k" else b"no"
        )
        self.send_response(200 if text[:1] == b"{" else 401)
        self.end_headers()
        self.wfile.write(text if self.path == "/v1/models" else b"elsewhere")

    def log_message(self, *_):
        pass


@pytest.fixture
def service():
    server = HTTPServer(("127.0.0.1", 0), Models)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.e2e
@pytest.mark.parametrize("ending", ["", "/chat/completions"])
def test_a_real_service_is_asked_for_its_models(service, ending):
    reached = probes.ask(service + ending, {"Authorization": "Bearer k"})

    assert (reached.status, reached.models) == (200, ("m",))


@pytest.mark.e2e
def test_a_real_service_that_refuses_the_key_says_so(service):
    reached = probes.ask(service, {})

    assert (reached.status, reached.models) == (401, None)


def test_a_service_that_is_not_there_says_what_to_do():
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]

    reached = probes.ask(f"http://127.0.0.1:{port}/v1", {})

    assert reached.status is None
    assert (reached.seen, bool(reached.do)) == ("nothing listens there", True)


def test_the_real_world_knows_its_programs_and_who_holds_the_machine(tmp_path):
    environment = {"PATH": os.environ["PATH"], "RUNOFF_LOCKS": str(tmp_path)}
    world = real_probes(environment, facts_here("local", NOW))

    assert world.program("sh")
    assert world.program("no-such-program") is None
    assert world.has_module("json")
    assert not world.has_module("no_such_module")
    assert world.holder() is None
    ours, _ = take(tmp_path, "local", campaign="c", run="r", now=NOW, expires=NOW)
    assert world.holder() == ours
    free(tmp_path, "local", ours.token)
