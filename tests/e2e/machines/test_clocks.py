"""Clocks of devices are looked at, locked, repeated free, and put back; a made-up driver."""

from __future__ import annotations

import json

import pytest

from tests.e2e.campaign.conftest import events, llama
from tests.e2e.machines.conftest import PATIENT
from tests.flows.fake_smi.stand_in import StandIn

pytestmark = pytest.mark.e2e


def test_clocks_are_locked_where_they_hold_and_the_winner_is_repeated_at_free_ones(
    folder, tmp_path, monkeypatch
):
    smi = StandIn(tmp_path, monkeypatch).is_of("h200-580")
    programs = {"PATH": f"{smi.programs}:{folder.environment['PATH']}"}
    told = {"FAKE_SMI_STATE": str(smi.state), "FAKE_SMI_SCENE": "h200-580", "FAKE_SMI_MODE": ""}
    folder.environment = {**folder.environment, **programs, **told}
    # one stream: two fall in and out of step, which is a trend in a cell of one second
    campaign = folder.campaign(
        [llama("a")],
        contract={**PATIENT, "concurrency": 1},
        matrix={"concurrency": [1], "rates": [], "requests": 60, "warmup_requests": 10},
    )

    done = folder.compare(campaign)

    run = folder.run
    assert done.code == 0, done.err
    (locked,) = events(run, "clocks-locked")
    assert locked["mhz"]["0"] == 1980
    found = {(cell.name.load_point, cell.file.clocks) for cell in run.cells}
    assert found == {("closed-1", "locked"), ("closed-1-production", "production")}
    assert len(run.cells) == 4
    again = sorted(run.folder.path.glob("launch/a/*/production/launch.json"))
    assert [path.parts[-3] for path in again] == ["0", "1"]
    assert (run.folder.path / "clocks/a/launch/launch.json").exists()
    (candidate,) = run.summary.candidates
    assert [launch.state for launch in candidate.launches] == ["ready", "ready"]
    cost = {cell.load_point: cell.measures["usd_per_1m_compliant"] for cell in candidate.cells}
    (ranked,) = run.decision.ranking
    assert ranked.usd_per_1m.value == cost["closed-1-production"].value
    assert ranked.usd_per_1m.note.endswith("at production clocks")
    control = json.loads((run.folder.path / "hosts/local/control.json").read_text())
    assert all(each["restored"] in (True, None) for each in control["settings"])
    assert smi.set_on(0) == {}
