"""A spot machine that is taken back under load: what is lost, what is kept, what goes on."""

from __future__ import annotations

import pytest

from flows.remote.notices import ENDPOINT
from tests.e2e.campaign.conftest import ended, events, kept, planned
from tests.e2e.machines.conftest import far_llama, on_aws
from tests.flows.amazon.conftest import left_in
from tests.flows.remote.metadata import REBALANCE, SPOT, serving_metadata

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("aws")]
END = {"action": "terminate", "time": "2026-11-30T15:00:00Z"}


def test_a_notice_breaks_the_cell_off_releases_the_machine_and_the_run_goes_on_later(
    folder, rented, ec2
):
    matrix = {
        "rates": [],
        "replications": 2,
        "duration": "6 s",
        "requests": 2,
    }  # heard within 4
    campaign = on_aws(folder, far_llama("a"), matrix=matrix, aws={"market": "spot"})
    anyway = ("--yes", "--allow", "5", "--allow", "7")
    with serving_metadata() as metadata:
        rented.environment = {ENDPOINT: metadata.url}
        started = folder.start(campaign, *anyway)
        folder.wait_for(
            lambda entry: (entry["event"], entry.get("replication")) == ("measuring", 1),
            started,
        )
        metadata.told = {SPOT: END, REBALANCE: {"noticeTime": "2026-11-30T14:50:00Z"}}
        done = ended(started)
        metadata.told = {}

        taken = folder.run
        assert done.code == 0, done.err
        assert kept(taken) == planned(taken)[:1]
        assert left_in(ec2) == {}
        assert "takes it back (spot interruption notice: terminate at" in done.err
        assert [e["told"] for e in events(taken, "rebalance", "interruption")] == [
            {"noticeTime": "2026-11-30T14:50:00Z"},
            END,
        ]
        (lost,) = events(taken, "discarded", "launch-failed")
        assert (lost["event"], lost["replication"]) == ("discarded", 1)
        assert lost["why"].startswith("interrupted: its cloud takes it back")
        (candidate,) = taken.summary.candidates
        assert {launch.state for launch in candidate.launches} == {"ready"}
        (host,) = taken.hosts
        assert [line[:40] for line in host.threats if "its cloud" in line] == [
            "its cloud recommended to leave it at 202",
            "its cloud took the spot machine back at ",
        ]

        again = folder.compare(campaign, "--resume", "latest", *anyway)

    run = folder.run
    assert again.code == 0, again.err
    assert kept(run) == planned(run)
    assert left_in(ec2) == {}
    assert rented.count == 2
    assert "its cloud took the spot machine back" in (run.folder.path / "report.md").read_text()
