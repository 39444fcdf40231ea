"""The load process as its user meets it: started, interrupted, misused."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.load.plan import Endpoint, write_plan
from flows.load.raw import read_raw

COMMAND = [sys.executable, "-P", "-m", "flows.load"]


@pytest.fixture
def written(tmp_path, a_plan):
    """Writes a plan for `server`; returns the paths of plan and raw file."""

    def write(url, requests, **changes):
        header = a_plan.header([Endpoint(url=url)], **changes)
        write_plan(tmp_path / "plan", header, requests)
        return tmp_path / "plan", tmp_path / "raw"

    return write


def test_a_whole_run_ends_with_0_and_its_raw_file(serve, wire, written, a_plan):
    paths = written(serve(wire.answer_all).url, [a_plan.planned(n) for n in range(8)])

    done = subprocess.run([*COMMAND, *paths], capture_output=True, check=False)

    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    run = read_raw(paths[1])
    assert run.complete
    assert [request.outcome for request in run.requests] == ["complete"] * 8
    assert 0 < run.client["cpu_share"] < 1
    assert run.client["send_lag_ms_p99"] >= 0
    assert run.anchor_unix_ns > 1_600_000_000 * 10**9


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_writes_what_it_measured_and_ends_with_130(
    serve, wire, written, a_plan, number
):
    def script(peer, connection):
        for request in peer.requests():
            peer.send(*wire.streamed()[:2])
            if b'"3"' in request.body:
                peer.wait_for_close()
            peer.send(*wire.streamed()[2:])

    requests = [a_plan.planned(n, at_ns=n * 10**7 if n < 8 else 10**12) for n in range(12)]
    server = serve(script)
    paths = written(
        server.url, requests, arrival="open", concurrency=None, measured_requests=10
    )

    process = subprocess.Popen([*COMMAND, *paths])
    while len(server.requests) < 8:
        time.sleep(0.01)
    time.sleep(0.05)
    process.send_signal(number)

    assert process.wait(20) == 130
    run = read_raw(paths[1])
    assert not run.complete
    assert [request.outcome for request in run.requests] == [
        *["complete"] * 3,
        "cancelled",
        *["complete"] * 4,
        *["not_sent"] * 2,
    ]
    assert b"".join(run.requests[3].fragments) == wire.event(" t0")
    assert {request.error for request in run.requests if request.outcome != "complete"} == {
        "interrupted"
    }
    assert sorted(path.name for path in paths[0].parent.iterdir()) == ["plan", "raw"]


def test_an_interrupt_while_connections_are_still_opening_sends_nothing(serve, written, a_plan):
    server = serve(lambda peer, number: peer.wait_for_close())
    url = server.url.replace("http:", "https:")
    paths = written(url, [a_plan.planned(n) for n in range(4)], measured_requests=4)

    process = subprocess.Popen([*COMMAND, *paths])
    while server.connections < 4:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)

    assert process.wait(20) == 130
    run = read_raw(paths[1])
    assert not run.complete
    assert [request.outcome for request in run.requests] == ["not_sent"] * 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], b"usage: "),
        (["one"], b"usage: "),
        (["one", "two", "three"], b"usage: "),
        (["nowhere", "raw"], b"error: nowhere: cannot be read"),
    ],
)
def test_misuse_ends_with_2_and_a_sentence(tmp_path, arguments, words):
    done = subprocess.run(
        [*COMMAND, *arguments], cwd=tmp_path, capture_output=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr.startswith(words)
    assert done.stderr.count(b"\n") == 1


def test_a_host_beyond_loopback_ends_with_2_where_the_environment_forbids_it(written, a_plan):
    paths = written("http://192.0.2.1:8000/v1/completions", [a_plan.planned(0)])

    done = subprocess.run(
        [*COMMAND, *paths],
        env={**os.environ, "RUNOFF_LOOPBACK_ONLY": "1"},
        capture_output=True,
        check=False,
    )

    assert done.returncode == 2
    assert b"beyond this machine" in done.stderr


def test_a_raw_file_that_cannot_be_written_ends_with_2(serve, wire, written, a_plan):
    plan, _ = written(serve(wire.answer_all).url, [a_plan.planned(0)])

    done = subprocess.run(
        [*COMMAND, plan, plan.parent / "missing" / "raw"], capture_output=True, check=False
    )

    assert done.returncode == 2
    assert b"missing" in done.stderr


def test_folders_named_as_ours_where_the_user_stands_do_not_get_in_the_way(
    serve, wire, written, a_plan, tmp_path
):
    paths = written(serve(wire.answer_all).url, [a_plan.planned(0)])
    for name in ("flows", "reports", "catalog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("raise RuntimeError('shadowed')")

    done = subprocess.run([*COMMAND, *paths], cwd=tmp_path, capture_output=True, check=False)

    assert (done.returncode, done.stderr) == (0, b"")


def test_the_load_process_loads_nothing_but_the_standard_library_and_a_parser():
    program = (
        "import sys; before = set(sys.modules)\n"
        "import flows.load.__main__\n"
        "print(*{name.partition('.')[0] for name in set(sys.modules) - before})"
    )

    done = subprocess.run(
        [sys.executable, "-P", "-c", program], capture_output=True, text=True, check=True
    )

    foreign = set(done.stdout.split()) - sys.stdlib_module_names
    assert {name for name in foreign if "cython" not in name} == {"flows", "httptools"}


def test_a_load_process_ends_when_the_one_that_it_works_for_is_killed(
    serve, wire, written, a_plan
):
    requests = [a_plan.planned(n, at_ns=n * 10**7 if n < 4 else 10**12) for n in range(6)]
    server = serve(wire.answer_all)
    paths = written(server.url, requests, arrival="open", concurrency=None)
    home = (
        "import os, subprocess, sys, time\n"
        "load = subprocess.Popen([*sys.argv[1:], str(os.getpid())], process_group=0)\n"
        "print(load.pid, flush=True)\n"
        "time.sleep(60)"
    )
    command = [sys.executable, "-c", home, *COMMAND, *map(str, paths)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    load = int(process.stdout.readline())
    while len(server.requests) < 4:
        time.sleep(0.01)

    process.kill()
    process.communicate()

    until_s = time.monotonic() + 20
    while is_running(load) and time.monotonic() < until_s:
        time.sleep(0.01)
    assert not is_running(load)
    run = read_raw(paths[1])
    assert not run.complete
    assert [r.outcome for r in run.requests] == ["complete"] * 4 + ["not_sent"] * 2


def is_running(pid):
    """Whether there is such a process; one that is dead and only not asked after is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_run_that_works_for_a_process_which_is_not_its_parent_sends_nothing(
    serve, wire, written, a_plan
):
    server = serve(wire.answer_all)
    paths = written(server.url, [a_plan.planned(n) for n in range(8)])

    done = subprocess.run([*COMMAND, *paths, "1"], capture_output=True, check=False)

    assert done.returncode == 130
    assert not read_raw(paths[1]).complete
