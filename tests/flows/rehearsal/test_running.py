"""The server as a process: address, stages of loading, signals, deaths, truth."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from flows.rehearsal import LifecycleSettings, Settings, StepModel, read_truth, start

STARTER = """
import time
from flows.rehearsal import start
server = start()
print(server.port, flush=True)
time.sleep(60)
"""
MODULE = [sys.executable, "-P", "-m", "flows.rehearsal"]


def loading(**lifecycle):
    return Settings(lifecycle=LifecycleSettings(**lifecycle))


def test_the_process_prints_its_address_on_loopback():
    process = subprocess.Popen([*MODULE, "--port", "0"], stdout=subprocess.PIPE, text=True)
    line = process.stdout.readline()
    process.send_signal(signal.SIGTERM)

    assert line.startswith("listening on http://127.0.0.1:")
    assert process.wait(10) == 0
    process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_busy_server_at_once(connect, number):
    with start() as server:
        client = connect(server)
        client.send("POST", "/v1/completions", {"prompt": [1], "max_tokens": 9999})
        time.sleep(0.05)
        server.process.send_signal(number)

        assert server.process.wait(5) == 0
        assert client.read().ended in ("eof", "reset")


def test_a_server_can_hang_on_a_signal_until_its_client_leaves(connect):
    with start(loading(term_waits_for_clients=True)) as server:
        client = connect(server)
        client.send("POST", "/v1/completions", {"prompt": [1], "max_tokens": 9999})
        time.sleep(0.1)
        server.process.send_signal(signal.SIGTERM)
        with pytest.raises(subprocess.TimeoutExpired):
            server.process.wait(0.3)
        client.close()

        assert server.process.wait(5) == 0


def test_a_second_signal_ends_a_hanging_server_by_force(connect):
    with start(loading(term_waits_for_clients=True)) as server:
        client = connect(server)
        client.send("POST", "/v1/completions", {"prompt": [1], "max_tokens": 9999})
        time.sleep(0.1)
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.1)
        server.process.send_signal(signal.SIGTERM)

        assert server.process.wait(5) == 1


def test_a_server_ends_when_its_starter_is_killed(tmp_path):
    starter = subprocess.Popen(
        [sys.executable, "-P", "-c", STARTER],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"TMPDIR": str(tmp_path)},
    )
    port = int(starter.stdout.readline())
    assert _can_connect(port)
    starter.kill()
    starter.wait()
    starter.stdout.close()

    _eventually(lambda: not _can_connect(port))


def test_a_loading_server_answers_503_and_then_serves(connect):
    with start(loading(load_s=0.4)) as server:
        client = connect(server)
        assert client.ask("GET", "/health").status == 503
        assert client.ask("GET", "/v1/models").json["data"] == []
        assert client.stream().json["error"]["message"] == "Loading model"

        _eventually(lambda: client.ask("GET", "/health").status == 200)
        assert len(client.stream().texts) == 4


def test_health_can_be_green_long_before_the_model_answers(connect):
    with start(loading(never_ready=True, while_loading="green")) as server:
        client = connect(server)

        assert client.ask("GET", "/health").status == 200
        assert client.ask("GET", "/v1/models").json["data"] == []
        assert client.stream().status == 503


def test_a_loading_server_can_refuse_connections(connect):
    with start(loading(load_s=0.4, while_loading="refuse")) as server:
        with pytest.raises(ConnectionRefusedError):
            connect(server)

        _eventually(lambda: _can_connect(server.port))
        assert connect(server).ask("GET", "/health").status == 200


def test_a_server_that_never_gets_ready_stays_alive_with_its_log_lines(connect):
    line = "torch.OutOfMemoryError: CUDA out of memory"
    with start(loading(never_ready=True, log_lines=(line,))) as server:
        assert connect(server).ask("GET", "/health").status == 503
        assert server.log() == line + "\n"
        assert server.process.poll() is None


def test_a_server_can_die_at_a_request(connect):
    with start(loading(die_after_requests=2, exit_code=137)) as server:
        client = connect(server)
        assert [client.stream().status for _ in range(2)] == [200, 200]

        assert client.stream().raw == b""
        assert server.process.wait(5) == 137


def test_a_server_can_die_after_a_time():
    with start(loading(die_after_s=0.2, exit_code=9)) as server:
        assert server.process.wait(5) == 9


def test_a_full_log_pipe_hangs_the_server(connect):
    with start(loading(log_bytes_per_request=1 << 20)) as server:
        client = connect(server)
        client.send("POST", "/v1/completions", {"prompt": [1], "stream": True})

        assert client.read(timeout_s=0.3).raw == b""
        server.process.kill()


def test_truth_holds_every_request_after_the_end(connect):
    with start(Settings(steps=StepModel(decode_base_ms=1, prefill_base_ms=1))) as server:
        client = connect(server)
        idents = [client.stream(max_tokens=n).chunks[0]["id"] for n in (1, 2, 3)]

        truth = server.truth()

    assert list(truth.by_ident()) == idents
    assert [len(r.token_times_ns) for r in truth.requests] == [1, 2, 3]
    assert {r.outcome for r in truth.requests} == {"ok"}
    assert abs(truth.anchor_unix_ns - time.time_ns()) < 60e9


def test_a_truth_file_stays_where_it_was_asked_for(tmp_path, connect):
    path = tmp_path / "truth.jsonl"
    with start(replace(Settings(), truth=str(path))) as server:
        connect(server).stream()
        server.stop()

        assert len(read_truth(path).requests) == 1


def test_a_file_of_another_format_is_no_truth(tmp_path):
    path = tmp_path / "truth.jsonl"
    path.write_text('{"format": 2}\n')

    with pytest.raises(ValueError, match="not a truth file of format 1"):
        read_truth(path)


def test_a_port_in_use_is_an_error_that_names_it():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [*MODULE, "--port", str(port)], capture_output=True, text=True, check=False
        )

    assert done.returncode == 2
    assert f"port {port} cannot be opened: Address already in use" in done.stderr


def test_a_server_that_does_not_start_raises_with_its_reason():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        settings = Settings(port=taken.getsockname()[1])
        with pytest.raises(RuntimeError, match="cannot be opened"):
            start(settings)


def test_wrong_settings_end_the_process_with_code_2(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text(json.dumps({"engine": {"max_num_seqs": 0}}))

    done = subprocess.run(
        [*MODULE, "--settings", str(path)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr == "settings.engine.max_num_seqs is 0: needs at least 1\n"


def test_the_verb_serves_with_its_flags(tmp_path, connect):
    truth = tmp_path / "truth.jsonl"
    flags = ["--model", "m", "--decode-ms", "1", "--truth", str(truth), "--like", "sglang"]
    flags += ["--tokens-per-chunk", "2", "--set", "stream.done=false"]
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", "flows.cli", "rehearse", *flags],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ,
    )
    server = _Address(int(process.stdout.readline().rpartition(":")[2]))
    seen = connect(server).stream()
    process.send_signal(signal.SIGINT)

    assert process.wait(10) == 0
    process.stdout.close()
    assert [len(text.split()) for text in seen.texts] == [2, 2, 0]
    assert seen.events[-1] != "[DONE]"
    assert seen.chunks[0]["model"] == "m"
    assert len(read_truth(truth).requests) == 1


class _Address:
    def __init__(self, port):
        self.port = port


def _eventually(claim):
    deadline = time.monotonic() + 5
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def _can_connect(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
    except ConnectionRefusedError:
        return False
    return True


def test_nothing_is_written_beside_the_truth_file(tmp_path, connect):
    path = tmp_path / "truth.jsonl"
    with start(replace(Settings(), truth=str(path))) as server:
        server.stop()

        assert list(Path(tmp_path).iterdir()) == [path]
