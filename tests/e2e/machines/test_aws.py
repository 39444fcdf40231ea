"""A campaign on a rented machine: from the launch to an account in which nothing is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from tests.e2e.campaign.conftest import Folder, ended, events, kept, planned
from tests.e2e.machines.conftest import far_llama, found_in, on_aws
from tests.flows.amazon.aws_endpoint import Fault
from tests.flows.amazon.conftest import left_in

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("aws")]


def test_a_rented_machine_serves_is_measured_and_leaves_nothing_in_the_account(
    folder, rented, ec2
):
    campaign = on_aws(folder, far_llama("rented"), matrix={"rates": [], "replications": 1})

    done = folder.compare(campaign, "--yes", "--allow", "5", "--allow", "7")

    run = folder.run
    assert done.code == 0, done.err
    assert kept(run) == planned(run)
    assert left_in(ec2) == {}
    assert [
        entry["event"] for entry in events(run, "acquiring", "released", "no-heartbeat")
    ] == [
        "acquiring",
        "released",
    ]
    (host,) = run.hosts
    assert host.facts["machine.instance_type"] == "m7i.metal-48xl"
    assert host.facts["machine.image"].startswith("ami-")
    assert abs(rented.number("deadline") - time.time() - 900) < 120
    assert all(cell.file.telemetry["window_s"] > 0 for cell in run.cells)
    assert {cell.file.load_host for cell in run.cells} == {host.host}
    assert found_in(run.folder.path, "the-secret-of-the-test") == []


def test_what_a_killed_campaign_rents_is_found_and_removed_by_runoff_machines(
    folder, rented, ec2
):
    campaign = on_aws(folder, far_llama("rented"), matrix={"rates": [], "requests": 5000})
    started = folder.start(campaign, "--yes")
    folder.wait_for(lambda entry: entry["event"] == "measuring", started)
    os.kill(started.pid, signal.SIGKILL)
    ended(started)
    assert "instances" in left_in(ec2)

    assert released(folder) == 0
    assert left_in(ec2) == {}


def test_credentials_that_expire_in_mid_run_end_with_a_loud_last_line_and_exit_code_10(
    folder, rented, ec2, world
):
    campaign = on_aws(folder, far_llama("rented"), matrix={"rates": [], "requests": 5000})
    started = folder.start(campaign, "--yes")
    folder.wait_for(lambda entry: entry["event"] == "measuring", started)
    world.faults = [Fault("*", "ExpiredToken", "The security token is expired")]
    started.send_signal(signal.SIGTERM)

    done = ended(started)

    last = done.err.strip().splitlines()[-1]
    assert done.code == 10, done.err
    assert "may still be billed" in last
    assert "ExpiredToken" in last
    assert "runoff machines" in last
    assert [entry["event"] for entry in events(folder.run, "not-released", "released")] == [
        "not-released"
    ]
    assert (folder.run.folder.path / "report.html").exists()
    assert released(folder) == 10  # it cannot be asked, and is not taken for gone
    world.faults = []
    assert released(folder) == 0
    assert left_in(ec2) == {}


def released(folder: Folder) -> int:
    """The exit code of ``runoff machines --release`` in the user's shell."""
    return subprocess.run(
        [sys.executable, "-P", "-m", "flows.cli", "machines", "--release", "--yes"],
        cwd=folder.path,
        env=dict(folder.environment),
        check=False,
    ).returncode


def test_a_machine_of_a_failed_launch_is_kept_for_a_look_and_the_exit_code_says_so(
    folder, rented, ec2
):
    broken = far_llama("broken", extra_args=["--no-such-option"])
    campaign = on_aws(folder, broken, matrix={"rates": [], "replications": 1})

    done = folder.compare(campaign, "--yes", "--keep-on-failure", "5m")

    assert done.code == 10, done.err
    assert "is kept for a look: until" in done.err
    assert "instances" in left_in(ec2)
    assert 0 < rented.number("deadline") - time.time() < 300
    aftermath = folder.run.folder.path / "launch" / "broken" / "0" / "aftermath.json"
    assert "no-such-option" in aftermath.read_text()
