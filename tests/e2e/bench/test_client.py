"""The client proves itself, stands alone, and keeps what it measured when it is stopped."""

from __future__ import annotations

import importlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import pytest

from flows.cli import run
from reports.records import read_records

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("load")]

PATIENCE_S = 120.0  # with a busy machine; nothing waits for its end
BUSY = {"streams": 3, "after_s": 0.0}


def load_processes(parent: int) -> list[int]:
    """The load processes that a command has started."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if int(status[1]) == parent and b"flows.load" in line:
                found.append(int(entry.name))
    return found


def when_loading(parent: int) -> list[int]:
    """The same, once there are some."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        if found := load_processes(parent):
            return found
        time.sleep(0.02)
    raise AssertionError("the command has started no load process")


def when_answered(url: str, requests: int) -> None:
    """Once the server has answered so many."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        with urllib.request.urlopen(f"{url}/metrics", timeout=PATIENCE_S) as page:
            lines = page.read().decode().splitlines()
        told = [line for line in lines if line.startswith("vllm:request_success_total")]
        if sum(float(line.rpartition(" ")[2]) for line in told) >= requests:
            return
        time.sleep(0.05)
    raise AssertionError(f"the server has not answered {requests} requests")


def when_written(folder: Path, name: str) -> Path:
    """The file of that name in a command's own folders, once it holds something."""
    until_s = time.monotonic() + PATIENCE_S
    while time.monotonic() < until_s:
        if found := [path for path in folder.rglob(name) if path.stat().st_size]:
            return found[0]
        time.sleep(0.02)
    raise AssertionError(f"the command has written no {name}")


@pytest.fixture
def heard():
    """Signals that this process ignores, and its children with it, are heard for a test."""
    before = {}

    def hear(number: signal.Signals) -> None:
        before[number] = signal.signal(number, signal.SIG_DFL)

    yield hear
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_client_that_is_kept_from_running_says_that_it_measured_itself(engine, bench):
    """The load process is stopped for 150 ms of every 250: nothing it says can be right."""
    command = bench.start(engine().url, concurrency=8, num_requests=200)
    (child,) = when_loading(command.pid)

    def hold_up() -> None:
        while command.poll() is None:
            try:
                os.kill(child, signal.SIGSTOP)
                time.sleep(0.15)
                os.kill(child, signal.SIGCONT)
            except ProcessLookupError:
                return
            time.sleep(0.1)

    disturbance = threading.Thread(target=hold_up)
    disturbance.start()
    result = bench.end(command)
    disturbance.join()

    assert result.summary["verdict"] == "client-bound", result.said
    assert result.code == 7
    assert {"loop lag", "send lag"} & set(result.summary["problems"])


def test_ctrl_c_keeps_what_was_measured_marks_it_and_ends_with_130(engine, bench):
    url = engine().url
    command = bench.start(url, request_rate=20.0, num_requests=2000)
    (child,) = when_loading(command.pid)
    when_answered(url, 50)

    command.send_signal(signal.SIGINT)
    result = bench.end(command)

    assert result.code == 130
    assert result.summary["incomplete"] is True
    assert "incomplete" in result.summary["problems"]
    requests = result.summary["requests"]
    assert 10 < requests["measured"] <= 2000
    assert requests["ok"] > 20
    assert len(result.columns) >= requests["ok"]
    assert not Path(f"/proc/{child}").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_other_signals_end_a_cell_as_ctrl_c_does(engine, bench, number, heard):
    heard(number)
    url = engine().url
    command = bench.start(url, request_rate=20.0, num_requests=2000)
    (child,) = when_loading(command.pid)
    when_answered(url, 10)

    command.send_signal(number)
    result = bench.end(command)

    assert result.code == 130
    assert result.summary["incomplete"] is True
    assert not Path(f"/proc/{child}").exists()


def test_an_ending_before_the_load_leaves_no_file_and_no_key(
    engine, bench, tmp_path, monkeypatch, heard
):
    """Somebody else's requests make the command wait between its plan and its load."""
    heard(signal.SIGTERM)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("THE_KEY", "sk-rather-secret")
    server = engine(foreign=BUSY, identity={"api_key": "sk-rather-secret"})

    command = bench.start(server.url, concurrency=4, api_key_env="THE_KEY")
    plan = when_written(tmp_path, "plan-0.jsonl")
    assert "sk-rather-secret" in plan.read_text()
    command.send_signal(signal.SIGTERM)
    result = bench.end(command)

    assert result.code == 130, result.said
    assert list(tmp_path.glob("runoff-load-*")) == []


def test_ctrl_c_behind_the_load_keeps_the_whole_measurement(
    engine, bench, tmp_path, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    server = engine(foreign=BUSY)

    command = bench.start(server.url, concurrency=4, num_requests=60)
    when_written(tmp_path, "plan-0.raw")
    time.sleep(1.0)  # the load process ends; the command waits for the server to be empty
    command.send_signal(signal.SIGINT)
    result = bench.end(command)

    assert result.code == 130, result.said
    assert result.summary["requests"]["measured"] == 40
    assert result.summary["incomplete"] is False


@pytest.mark.parametrize(
    ("module", "step"), [("judge", "summary_of"), ("replications", "combined")]
)
def test_ctrl_c_while_the_summary_is_made_keeps_the_whole_measurement(
    engine, bench, monkeypatch, module, step
):
    found = importlib.import_module(f"flows.bench.{module}")
    real = getattr(found, step)

    def interrupted(*given):
        signal.raise_signal(signal.SIGINT)
        return real(*given)

    monkeypatch.setattr(found, step, interrupted)

    result = bench(engine().url, concurrency=4, num_requests=60)

    assert result.code == 130, result.said
    assert result.summary["requests"]["measured"] == 40
    assert len(result.columns) >= 60
    assert "p95 with failures" in result.said


def test_a_killed_command_leaves_no_load_behind_and_the_next_removes_its_key(
    engine, bench, tmp_path, monkeypatch
):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("THE_KEY", "sk-rather-secret")
    url = engine(identity={"api_key": "sk-rather-secret"}).url
    key = {"api_key_env": "THE_KEY"}
    command = bench.start(url, request_rate=20.0, num_requests=2000, **key)
    (child,) = when_loading(command.pid)

    command.kill()
    bench.end(command)

    until_s = time.monotonic() + 20
    while Path(f"/proc/{child}/exe").exists() and time.monotonic() < until_s:
        time.sleep(0.05)
    assert not Path(f"/proc/{child}/exe").exists()
    assert list(tmp_path.glob("runoff-load-*"))

    bench.end(bench.start(url, concurrency=2, num_requests=20, warmup_requests=2, **key))

    assert list(tmp_path.glob("runoff-load-*")) == []


def test_a_folder_of_the_users_that_is_named_like_ours_is_not_run(engine, bench, tmp_path):
    for package in ("flows", "reports", "catalog"):
        folder = tmp_path / "work" / package
        folder.mkdir(parents=True)
        (folder / "__init__.py").write_text("raise SystemExit('shadowed')")

    command = bench.start(engine().url, cwd=tmp_path / "work", concurrency=4, num_requests=60)
    result = bench.end(command)

    assert "shadowed" not in result.said
    assert result.summary["requests"]["ok"] == result.summary["requests"]["planned"]


def test_somebody_elses_requests_on_the_server_are_told(engine, bench):
    server = engine(foreign={"streams": 3, "after_s": 0.0})

    result = bench(server.url, concurrency=2, num_requests=50, output_tokens=32)

    assert {"foreign traffic", "not drained"} <= set(result.summary["problems"])
    assert result.code == 7
    assert result.summary["server"]["requests_before"] == 3
    assert result.summary["server"]["foreign_peak"] >= 2


def test_foreign_traffic_that_comes_later_is_seen_by_the_samples(engine, bench):
    server = engine(foreign={"streams": 6, "after_s": 2.5})

    result = bench(server.url, concurrency=2, num_requests=80, output_tokens=32)

    assert "foreign traffic" in result.summary["problems"], result.said
    assert result.summary["server"]["requests_before"] == 0


@pytest.mark.parametrize("dialect", ["vllm", "sglang", "tensorrt_llm", "llama_server"])
def test_a_clean_server_is_seen_clean_in_every_dialect(engine, bench, dialect):
    server = engine(dialect=dialect)

    result = bench(server.url, concurrency=4, num_requests=100, warmup_requests=8)

    seen = result.summary["server"]
    assert seen["runtime"] == dialect
    assert (seen["requests_before"], seen["requests_after"]) == (0, 0)
    assert seen["foreign_peak"] == 0
    assert not {"foreign traffic", "not drained"} & set(result.summary["problems"])


def test_a_server_without_metrics_is_measured_and_what_is_unseen_is_said(engine, bench):
    result = bench(engine(identity={"metrics": False}).url, concurrency=4, num_requests=80)

    assert result.summary["server"]["runtime"] is None
    assert "server metrics: not available" in result.said
    assert result.summary["requests"]["failed"] == 0


def test_round_trip_time_and_its_share_of_ttft_are_shown(engine, bench):
    result = bench(engine().url, concurrency=4, num_requests=80)

    assert 0 < result.summary["client"]["rtt_ms_p50"] < 5
    assert 0 <= result.summary["client"]["rtt_share_of_ttft"] < 0.5


def test_a_key_reaches_the_server_and_nothing_that_is_written(
    engine, bench, monkeypatch, tmp_path
):
    monkeypatch.setenv("SERVER_KEY", "sk-planted-secret")
    server = engine(identity={"api_key": "sk-planted-secret"})

    result = bench(server.url, concurrency=4, num_requests=80, api_key_env="SERVER_KEY")

    assert result.summary["requests"]["failed"] == 0
    assert "sk-planted-secret" not in result.said
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"sk-planted-secret" not in path.read_bytes()


def test_a_key_that_the_server_repeats_in_its_errors_is_not_kept(
    engine, bench, monkeypatch, tmp_path
):
    monkeypatch.setenv("SERVER_KEY", "sk-planted-secret")
    told = {"kind": "error", "at_token": 2, "message": "no more for sk-planted-secret"}
    server = engine(rules=[{"every": 2, "failure": told}])

    result = bench(server.url, concurrency=4, num_requests=60, api_key_env="SERVER_KEY")

    assert "no more for ***" in result.said
    assert "no more for ***" in set(result.columns.error)
    assert "sk-planted-secret" not in result.said
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"sk-planted-secret" not in path.read_bytes()


def test_a_key_in_the_address_reaches_the_server_and_nothing_that_is_written(
    engine, bench, tmp_path
):
    told = {"kind": "error", "at_token": 2, "message": "no more for sk-planted-secret"}
    url = engine(rules=[{"every": 2, "failure": told}]).url
    place = f"{url}/v1/completions?api-version=2024-10-21&key=sk-planted-secret"

    result = bench(place, concurrency=4, num_requests=60)
    elsewhere = bench(place.replace("/completions", "/nothing/completions"), concurrency=4)

    assert result.summary["requests"]["ok"] > 20
    assert "no more for ***" in result.said
    assert elsewhere.code == 8
    assert "?api-version=***&key=***" in elsewhere.said
    assert "sk-planted-secret" not in result.said + elsewhere.said
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or b"sk-planted-secret" not in path.read_bytes()


def test_the_client_is_calibrated_against_a_null_server(tmp_path):
    script = (
        "from flows.bench.calibrate import calibrate; import json; "
        "print(json.dumps(calibrate((8,)).to_json()))"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=True
    )

    found = json.loads(done.stdout)
    assert [level["streams"] for level in found["levels"]] == [8]
    (level,) = found["levels"]
    assert 0 <= level["bias_us_p50"] < 2_000
    assert level["gap_error_ms_p99"] < 5
    assert 0 < level["cpu_us_per_chunk"] < 500
    assert found["ceiling_chunks_per_s"] > 1_000


def test_a_reader_who_leaves_costs_neither_results_nor_exit_code(engine, bench):
    """As `runoff bench … | head -1` does."""
    server = engine(rules=[{"every": 2, "failure": {"kind": "status", "status": 500}}])
    command = bench.start(server.url, concurrency=4, replications=2, num_requests=60)
    assert command.stdout is not None
    command.stdout.close()

    code = command.wait(timeout=120)

    summary = json.loads((bench.summary).read_text())
    assert len(summary["replications"]) == 2
    assert code == (4 if summary["verdict"] == "valid" else 7)
    assert len(read_records(bench.records).columns) == summary["requests"]["planned"]


def test_json_for_a_dash_is_all_that_standard_output_gets(engine, bench, capsys):
    url = engine().url + "/v1/completions"
    few = (
        "--concurrency",
        "2",
        "--num-requests",
        "20",
        "--warmup-requests",
        "4",
        "--output-tokens",
        "4",
    )

    code = run(["bench", "--endpoint", url, "--model", "rehearsal", *few, "--json", "-"])

    captured = capsys.readouterr()
    assert code in (0, 5, 7)
    assert json.loads(captured.out)["schema_version"] == 1
    assert "closed-c2" in captured.err
