"""One candidate on a host over SSH, from its lock to records that came home."""

from __future__ import annotations

import datetime as dt
import json
import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from deploy_templates.plan import LaunchPlan
from deploy_templates.request import Checkpoint, LaunchRequest, Variables
from deploy_templates.runtime_folder import load_runtime_folder
from flows.bench.flags import Flags, cell_spec
from flows.bench.http import post
from flows.bench.probe import survey
from flows.clouds.protocol import Order, Site
from flows.clouds.ssh_hosts import connect
from flows.collect.source import launched_source
from flows.launch.running import Running
from flows.launch_plans import Requested
from flows.measuring.jobs import Cell
from flows.remote.candidate import prepare_there, start_there
from flows.remote.facts import remote_facts, remote_look
from reports.records import read_records
from tests.flows.launch.conftest import MODEL, VERSIONS, command_lines, gguf

__all__ = ["command_lines", "gguf"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]
REQUESTS = 24
TOKEN = "hf_this-is-planted-and-must-not-be-found"
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
        # more threads would wait for each other on a busy machine
        variables=Variables(max_model_len=512, max_sequences=2, seed=7, threads=1),
    )
    return Requested(name="here", request=request, runtime=load_runtime_folder("llama_server"))


def test_a_real_engine_is_measured_on_a_host_keeps_its_secrets_and_is_stopped(
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
    said: list[str] = []
    prepared = prepare_there(host, candidate, said=said.append, finished=with_token)
    plan, running = start_there(
        host,
        prepared,
        tmp_path / "launch",
        name="c-r-here-0",
        environment={"HF_TOKEN": TOKEN},
    )
    keys = secrets_of(running)
    lies_in = read_by(far_host.folder, tmp_path / "launch")
    modes = {mode for secret in keys.values() for mode in lies_in(secret)}
    bare = replace(running.endpoint(), headers={})
    without_key = post(bare, json.dumps({"model": plan.served_model, "prompt": "x"}), 20.0)
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
    assert [line.split()[0] for line in said] == ["copying"]
    assert any(str(far_host.root / "checkpoints") in word for word in plan.argv)
    assert plan.port != 8000
    assert without_key.status == 401
    assert keys["HF_TOKEN"] == TOKEN
    assert modes <= {0o600}
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
    everywhere = read_by(far_host.folder, tmp_path)
    assert [everywhere(secret) for secret in keys.values()] == [[]] * len(keys)


def with_token(plan: LaunchPlan) -> LaunchPlan:
    """As for weights of the hub: their token is the server's."""
    return replace(plan, secret_env=(*plan.secret_env, "HF_TOKEN"))


def secrets_of(running: Running) -> dict[str, str]:
    """What the server was told that nobody else is to know, as its kernel has it."""
    told = Path(f"/proc/{running.pid}/environ").read_bytes().decode().split("\0")
    found = dict(entry.partition("=")[::2] for entry in told)
    return {name: found[name] for name in ("HF_TOKEN", "LLAMA_API_KEY")}


def read_by(*folders: Path) -> Callable[[str], list[int]]:
    """Modes of the files that hold a secret in any of their bytes."""

    def modes(secret: str) -> list[int]:
        paths = {path for folder in folders for path in folder.rglob("*") if path.is_file()}
        return [
            path.stat().st_mode & 0o777
            for path in paths
            if not path.is_symlink() and secret.encode() in path.read_bytes()
        ]

    return modes


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
