"""A campaign on hosts over SSH: servers and load there, evidence here, nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from flows.host_lock import holdings
from tests.e2e.campaign.conftest import ended, events, kept, planned
from tests.e2e.machines.conftest import PATIENT, TOKEN, entered_by, far_llama, found_in
from tests.flows.launch.conftest import command_lines

__all__ = ["command_lines"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]
# it proves nothing (5), and on a busy machine the client limits (7)
ONE = {"rates": [], "replications": 1}


def test_a_campaign_on_a_host_over_ssh_reaches_its_decision(folder, box, command_lines):
    folder.environment = {**folder.environment, "HF_TOKEN": TOKEN}
    campaign = folder.campaign([far_llama("far")], contract=PATIENT, matrix={"requests": 80})

    done = folder.compare(campaign)

    run = folder.run
    (host,) = run.hosts
    assert done.code == 0, done.err
    assert kept(run) == planned(run)
    assert {(cell.file.host, cell.file.load_host) for cell in run.cells} == {("ssh-box",) * 2}
    assert {(cell.file.server_cpus, cell.file.client_cpus) for cell in run.cells} == {
        ((1,), (0,))
    }
    assert all(cell.file.telemetry["host"]["samples"] > 2 for cell in run.cells)
    assert (host.host, host.driver) == ("ssh-box", "ssh_hosts")
    assert holdings(box.folder / "locks") == ()
    assert not [line for line in command_lines() if str(box.root) in line]
    assert not list((box.root / "launches").iterdir())
    assert found_in(folder.path, TOKEN) == []  # the host's own folders are below it
    assert TOKEN not in done.out + done.err


@pytest.mark.parametrize("source", ["ssh:loader", "orchestrator"])
def test_load_comes_from_another_machine_only_where_the_server_is_reached(
    folder, box, make_host, source
):
    loader = make_host("loader")
    box.client(folder.path)
    config = folder.path / ".ssh" / "config"
    known = config.read_text()
    loader.client(folder.path)
    config.write_text(known + config.read_text().replace("Host box", "Host loader"))
    campaign = folder.campaign([far_llama("far")], load_from=source, matrix=ONE)

    done = folder.compare(campaign, "--allow", "5", "--allow", "7")

    (cell,) = folder.run.cells
    assert done.code == 0, done.err
    assert (cell.file.host, cell.file.load_host) == (
        "ssh-box",
        {"ssh:loader": "ssh-loader"}.get(source, "local"),
    )
    assert cell.file.client_cpus == ()
    assert cell.file.telemetry["host"]["samples"] > 2
    assert len(events(folder.run, "released")) == (2 if source == "ssh:loader" else 1)


def test_a_connection_that_is_cut_in_a_cell_costs_nothing(folder, box, proxied):
    proxy = proxied(box)
    entered_by(folder, box, Port=str(proxy.port))
    campaign = folder.campaign([far_llama("far")], matrix={**ONE, "requests": 200})

    started = folder.start(campaign, "--allow", "5", "--allow", "7")
    folder.wait_for(lambda entry: entry["event"] == "measuring", started)
    proxy.cut_after(20_000)
    done = ended(started)

    assert done.code == 0, done.err
    assert kept(folder.run) == planned(folder.run)
    assert proxy.cut_after_bytes is None
    assert events(folder.run, "discarded", "launch-failed") == []


def test_ctrl_c_under_load_stops_everything_on_the_host(folder, box, command_lines):
    campaign = folder.campaign([far_llama("far")], matrix={**ONE, "requests": 5000})
    started = folder.start(campaign)
    folder.wait_for(lambda entry: entry["event"] == "measuring", started)
    started.send_signal(signal.SIGINT)

    done = ended(started)

    assert done.code == 130, done.err
    assert events(folder.run, "released")
    assert holdings(box.folder / "locks") == ()
    assert not [line for line in command_lines() if str(box.root) in line]


def test_a_killed_campaign_is_released_on_its_host(folder, box, command_lines):
    campaign = folder.campaign([far_llama("far")], matrix={**ONE, "requests": 5000})
    started = folder.start(campaign)
    folder.wait_for(lambda entry: entry["event"] == "measuring", started)
    os.kill(started.pid, signal.SIGKILL)
    ended(started)

    words = [sys.executable, "-P", "-m", "flows.cli", "machines", "--release", "--yes"]
    done = subprocess.run(
        words,
        cwd=folder.path,
        env=dict(folder.environment),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "removed box#" in done.stderr
    assert holdings(box.folder / "locks") == ()
    assert not [line for line in command_lines() if str(box.root) in line]
