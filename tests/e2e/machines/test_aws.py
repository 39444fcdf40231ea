"""A campaign on a rented machine: from the launch to an account in which nothing is left."""

from __future__ import annotations

import time

import pytest

from tests.e2e.campaign.conftest import events, kept, planned
from tests.e2e.machines.conftest import TOKEN, far_llama, found_in, on_aws
from tests.flows.amazon.conftest import left_in

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


def test_a_rented_machine_serves_is_measured_and_leaves_nothing_in_the_account(
    folder, rented, ec2, tmp_path
):
    campaign = on_aws(folder, far_llama("rented"), matrix={"rates": []})

    done = folder.compare(campaign, "--yes")

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
    assert found_in(tmp_path, TOKEN) == []
    assert TOKEN not in done.out + done.err
    assert found_in(run.folder.path, "the-secret-of-the-test") == []
