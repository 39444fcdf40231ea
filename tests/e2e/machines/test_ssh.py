"""A campaign on hosts over SSH: servers and load there, evidence here, nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from flows.host_lock import holdings
from tests.e2e.campaign.conftest import ended, events, kept, planned
from tests.e2e.machines.conftest import (
    PATIENT,
    TOKEN,
    entered_by,
    far_llama,
    found_in,
    of_the_hub,
)
from tests.flows.launch.conftest import command_lines

__all__ = ["command_lines"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]
# it proves nothing (5), and on a busy machine the client limits (7)
ONE = {"rates": [], "replications": 1}


def test_a_campaign_on_a_host_over_ssh_reaches_its_decision_and_tells_nobody_the_hubs_token(
    folder, box, gguf, command_lines
):
    keep_block("hf-token", TOKEN, folder.environment)
    candidate, catalog = of_the_hub(folder, gguf)
    contract = {**PATIENT, "model": "nobody/tiny-llama"}
    campaign = folder.campaign([candidate], contract=contract, matrix={"requests": 60})

    anyway = ("--allow", "5", "--allow", "7")
    started = folder.start(campaign, "--catalog", catalog, *anyway)
    launched = folder.wait_for(lambda entry: entry["event"] == "launched", started)
    environment = Path(f"/proc/{launched['pid']}/environ").read_bytes().split(b"\0")
    modes = {Path(path).stat().st_mode & 0o777 for path in found_in(folder.path, TOKEN)}
    done = ended(started)

    run = folder.run
    assert "HF_TOKEN" not in folder.environment
    assert f"HF_TOKEN={TOKEN}".encode() in environment
    assert "HF_TOKEN is the Prefect block secret/hf-token" in done.err
    assert modes <= {0o600}
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
    assert found_in(folder.path, TOKEN) == []  # the run's files, and all of the host's
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


def keep_block(name: str, secret: str, environment: Mapping[str, str]) -> None:
    """A secret on the team's Prefect server, as somebody has put it there once."""
    code = "import sys; from prefect.blocks.system import Secret; "
    code += "Secret(value=sys.stdin.read()).save(sys.argv[1], overwrite=True)"
    words = [sys.executable, "-P", "-c", code, name]
    subprocess.run(words, input=secret, text=True, check=True, env=dict(environment))


PHASES = ("acquired", "launching", "launched", "measuring", "measured", "stopped", "releasing")


def test_a_connection_that_is_cut_in_each_phase_costs_nothing(folder, box, proxied):
    proxy = proxied(box)
    entered_by(folder, box, Port=str(proxy.port))
    campaign = folder.campaign([far_llama("far")], matrix={**ONE, "requests": 100})

    started = folder.start(campaign, "--allow", "5", "--allow", "7")
    for phase in PHASES:
        folder.wait_for(lambda entry, phase=phase: entry["event"] == phase, started)
        proxy.cut()
        if phase == "measuring":  # while the load runs, not only as it starts
            proxy.cut_after(20_000)
            box.restart()
    done = ended(started)

    assert done.code == 0, done.err
    assert kept(folder.run) == planned(folder.run)
    assert proxy.cut_after_bytes is None
    assert events(folder.run, "discarded", "launch-failed", "not-released") == []
    assert holdings(box.folder / "locks") == ()


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
