"""The measuring process: jobs and answers, its CPUs, and its end with its starter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from flows.bench.flags import Flags, cell_spec
from flows.errors import InfrastructureError
from flows.interruption import Interrupted, Interruption
from flows.launch.processes import living, process_of
from flows.measuring.answers import Failed
from flows.measuring.jobs import Ask, Cell
from flows.measuring.process import MeasuringProcess
from flows.rehearsal import Settings, start

pytestmark = pytest.mark.e2e


@pytest.fixture
def engine():
    with start(Settings()) as running:
        yield running


def spec(engine, requests=40):
    flags = Flags(
        endpoints=[f"{engine.url}/v1/completions"],
        model="rehearsal",
        prompt_tokens="16",
        output_tokens="8",
        concurrency=2,
        num_requests=requests,
        warmup_requests=2,
        ttft_slo_ms=1000,
    )
    return cell_spec(flags, {})


def test_a_cell_is_measured_with_its_summary_and_who_else_was_there(engine, tmp_path):
    with MeasuringProcess(tmp_path / "log", Interruption()) as measuring:
        asked = spec(engine)
        survey = measuring.ask(Ask(spec=asked))
        cell = Cell(
            spec=asked,
            folder=tmp_path / "0",
            survey=survey,
            launched=None,
            percentile=90,
            first="answer",
        )
        measured = measuring.measure(cell)

    assert not measured.interrupted
    assert (measured.asked.slo.percentile, measured.asked.slo.first) == (90, "answer")
    assert measured.document["requests"]["measured"] == 38
    assert measured.foreign["seconds"] > 0
    assert {path.name for path in (tmp_path / "0").iterdir()} == {
        "0.parquet",
        "0.client.json",
        "0.server.json",
    }


def test_an_error_there_is_the_same_error_here(tmp_path, engine):
    asked = spec(engine)
    engine.stop()

    with (
        MeasuringProcess(tmp_path / "log", Interruption()) as measuring,
        pytest.raises(InfrastructureError) as raised,
    ):
        measuring.ask(Ask(spec=asked))

    assert raised.value.where == asked.target.endpoints[0].url
    assert raised.value.do


def test_an_error_that_needs_more_than_three_words_is_infrastructure():
    failed = Failed(kind="LaunchError", where="there", seen="gone", do="again")

    assert type(failed.error()) is InfrastructureError


def test_it_stays_on_the_cpus_that_the_server_leaves(tmp_path, engine):
    last = max(os.sched_getaffinity(0))

    with MeasuringProcess(tmp_path / "log", Interruption(), [last]) as measuring:
        measuring.ask(Ask(spec=spec(engine)))
        assert os.sched_getaffinity(measuring.pid) == {last}


def test_an_interruption_ends_a_load_that_would_last_minutes(engine, tmp_path):
    interruption = Interruption()
    with MeasuringProcess(tmp_path / "log", interruption) as measuring:
        asked = spec(engine, 5000)
        survey = measuring.ask(Ask(spec=asked))
        threading.Timer(1.0, interruption.ask, ("SIGINT",)).start()
        cell = Cell(spec=asked, folder=tmp_path / "0", survey=survey, launched=None)
        try:
            assert measuring.measure(cell).interrupted
        except Interrupted:
            assert not (tmp_path / "0" / "0.parquet").exists()


def test_one_that_cannot_start_says_what_it_said(tmp_path, engine):
    with (
        MeasuringProcess(tmp_path / "log", Interruption(), [100_000]) as measuring,
        pytest.raises(InfrastructureError, match="Invalid argument"),
    ):
        measuring.ask(Ask(spec=spec(engine)))


def test_a_fault_there_is_told_here_with_its_last_words(tmp_path):
    with (
        MeasuringProcess(tmp_path / "log", Interruption()) as measuring,
        pytest.raises(InfrastructureError, match="code 1: AttributeError"),
    ):
        measuring.ask("no job")


STARTER = """
import sys, pathlib
from flows.bench.flags import Flags, cell_spec
from flows.interruption import Interruption
from flows.measuring.jobs import Ask, Cell
from flows.measuring.process import MeasuringProcess
folder, url = pathlib.Path(sys.argv[1]), sys.argv[2]
asked = cell_spec(Flags(endpoints=[url], model="rehearsal", prompt_tokens="16",
    output_tokens="8", concurrency=2, num_requests=5000, warmup_requests=2), {})
with MeasuringProcess(folder / "log", Interruption()) as measuring:
    survey = measuring.ask(Ask(spec=asked))
    print(measuring.pid, flush=True)
    measuring.measure(Cell(spec=asked, folder=folder / "0", survey=survey, launched=None))
"""


def test_when_its_starter_is_killed_it_ends_with_its_load(engine, tmp_path):
    url = f"{engine.url}/v1/completions"
    command = [sys.executable, "-c", STARTER, str(tmp_path), url]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as starter:
        pid = int(starter.stdout.readline())
        until_s = time.monotonic() + 60
        while not (loads := load_of(pid)) and time.monotonic() < until_s:
            time.sleep(0.05)
        starter.send_signal(signal.SIGKILL)
    until_s = time.monotonic() + 20
    while (process_of(pid) or process_of(loads[0])) and time.monotonic() < until_s:
        time.sleep(0.05)

    assert process_of(pid) is None
    assert process_of(loads[0]) is None


def load_of(pid):
    """Load processes that the measuring process has started."""
    found = []
    for process in living():
        try:
            text = Path(f"/proc/{process.pid}/stat").read_text()
        except OSError:
            continue
        if int(text.rpartition(")")[2].split()[1]) == pid:
            found.append(process.pid)
    return found
