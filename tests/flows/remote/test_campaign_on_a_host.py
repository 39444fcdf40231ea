"""One candidate on a host over SSH, from its lock to records that came home."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deploy_templates.request import Checkpoint, LaunchRequest, Variables
from deploy_templates.runtime_folder import load_runtime_folder
from flows.bench.flags import Flags, cell_spec
from flows.bench.probe import survey
from flows.clouds.protocol import Order, Site
from flows.clouds.ssh_hosts import connect
from flows.collect.source import launched_source
from flows.launch_plans import Requested
from flows.measuring.jobs import Cell
from flows.remote.candidate import prepare_there, start_there
from flows.remote.facts import remote_facts, remote_look
from reports.records import read_records
from tests.flows.launch.conftest import MODEL, VERSIONS, command_lines, gguf

__all__ = ["command_lines", "gguf"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]
REQUESTS = 24
OUTPUT_TOKENS = 8


class Ledger(list[tuple[str, dict[str, Any]]]):
    def __call__(self, event: str, **facts: Any) -> None:
        json.dumps(facts, allow_nan=False)
        self.append((event, facts))


@pytest.fixture
def candidate(gguf) -> Requested:
    request = LaunchRequest(
        name="here",
        runtime="llama_server",
        version=VERSIONS["embedded"],
        mode="venv",
        variant="embedded",
        model=MODEL,
        port=8000,
        device_class="cpu-x86",
        checkpoint=Checkpoint(kind="dummy", location=str(gguf)),
        programs={"python": sys.executable},
        variables=Variables(max_model_len=512, max_sequences=2, seed=7),
    )
    return Requested(name="here", request=request, runtime=load_runtime_folder("llama_server"))


def test_a_real_engine_is_measured_on_a_host_and_everything_is_stopped(
    far_host, candidate, tmp_path, command_lines
):
    now = dt.datetime.now(dt.UTC)
    site = Site(
        environment=far_host.client(tmp_path), state=tmp_path / "state", now=lambda: now
    )
    driver, ledger = connect(site), Ledger()
    order = Order(host="ssh:box", campaign="c", run="r", expires=now + dt.timedelta(minutes=10))

    machine = driver.ready(driver.acquire(order, ledger), ledger)
    host = driver.host(machine)
    facts, look = remote_facts(host, machine.host_id), remote_look(host, seconds=0.2)
    prepared = prepare_there(host, candidate)
    plan, running = start_there(
        host, prepared, tmp_path / "launch", name="c-r-here-0", environment={}
    )
    cell = Cell(
        spec=(spec := spec_of(running)),
        folder=tmp_path / "cell",
        survey=survey(spec),
        launched=launched_source(plan),
        place=running.place(),
    )
    measured = pickle.loads(pickle.dumps(cell)).done()
    stopped = running.stop()
    driver.release(machine, ledger)

    columns = read_records(tmp_path / "cell" / "0.parquet").columns
    client = json.loads((tmp_path / "cell" / "0.client.json").read_text())
    server = json.loads((tmp_path / "cell" / "0.server.json").read_text())
    told = server["servers"][0]["counted"]
    assert set(columns.outcome) == {"ok"}
    assert np.all(columns.output_tokens == OUTPUT_TOKENS)
    assert told["generation_tokens"]["value"] == columns.output_tokens.sum()
    assert told["prompt_tokens"]["value"] == columns.prompt_tokens.sum()
    assert client["server"]["foreign_peak"] == 0
    assert measured.foreign["samples"] >= 1
    assert facts.usable_memory_bytes > 0
    assert look.cpus >= len(facts.cpu.allowed) > 0
    assert stopped.exit_code == 0
    assert Path(stopped.log).is_file()
    assert driver.list_owned() == ()
    assert [event for event, _ in ledger] == [
        "acquiring",
        "acquired",
        "ready",
        "releasing",
        "released",
    ]
    assert not [line for line in command_lines() if str(far_host.root) in line]


def spec_of(running):
    endpoint = running.endpoint()
    return cell_spec(
        Flags(
            endpoints=[endpoint.url],
            headers=[f"{name}: {value}" for name, value in endpoint.headers.items()],
            model=running.facts.served_model,
            concurrency=2,
            num_requests=REQUESTS,
            warmup="fixed",
            warmup_requests=4,
            prompt_tokens="32",
            output_tokens=str(OUTPUT_TOKENS),
        ),
        {},
    )
