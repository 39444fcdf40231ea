"""One candidate on a host over SSH, from its lock to records that came home."""

from __future__ import annotations

import datetime as dt
import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from flows.bench.flags import Flags, cell_spec
from flows.bench.run import measure_cell
from flows.clouds.protocol import Order, Site
from flows.clouds.ssh_hosts import connect
from flows.collect.source import launched_source
from flows.remote.facts import remote_facts, remote_look
from flows.remote.launching import remote_launch
from reports.records import read_records
from tests.flows.launch.conftest import command_lines, gguf, llama_plan, port

__all__ = ["command_lines", "gguf", "llama_plan", "port"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


class Ledger(list[tuple[str, dict[str, Any]]]):
    def __call__(self, event: str, **facts: Any) -> None:
        json.dumps(facts, allow_nan=False)
        self.append((event, facts))


def test_a_real_engine_is_measured_on_a_host_and_everything_is_stopped(
    far_host, llama_plan, tmp_path, command_lines
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
    plan = llama_plan("embedded")
    running = remote_launch(
        host, plan, tmp_path / "launch", name="c-r-here-0", environment={}, secrets={}
    )
    spec = cell_spec(
        Flags(
            endpoints=[f"{running.url}{plan.readiness.completion_path}"],
            model=plan.served_model,
            concurrency=2,
            num_requests=24,
            warmup="fixed",
            warmup_requests=4,
            prompt_tokens="32",
            output_tokens="8",
        ),
        {},
    )
    place = pickle.loads(pickle.dumps(running.place()))
    files = measure_cell(spec, tmp_path / "cell", launched=launched_source(plan), place=place)
    stopped = running.stop()
    driver.release(machine, ledger)

    columns = read_records(files.records).columns
    client, server = (json.loads(each.read_text()) for each in (files.client, files.server))
    assert set(columns.outcome) == {"ok"}
    assert np.all(columns.output_tokens == 8)
    told = server["servers"][0]["counted"]
    assert told["generation_tokens"]["value"] == columns.output_tokens.sum()
    assert told["prompt_tokens"]["value"] == columns.prompt_tokens.sum()
    assert client["server"]["foreign_peak"] == 0
    assert files.foreign["samples"] >= 1
    assert facts.usable_memory_bytes > 0
    assert look.cpus >= len(facts.cpu.allowed) > 0
    assert stopped.exit_code == 0
    assert Path(stopped.log).is_file()
    assert driver.list_owned() == ()
    assert [event for event, _ in ledger][-2:] == ["releasing", "released"]
    assert not [line for line in command_lines() if str(far_host.root) in line]
