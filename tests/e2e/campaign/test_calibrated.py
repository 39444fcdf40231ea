"""A campaign that calibrates its host: its gates follow before anything is launched."""

from __future__ import annotations

import json

import pytest

from catalog.calibration.file import read_calibration
from reports.run.manifest_file import Manifest
from reports.run.read import read_file
from tests.e2e.campaign.conftest import CONTRACT, events, kept, llama, written

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("campaigns")]


def test_a_host_is_calibrated_and_a_candidate_that_its_rates_speak_against_is_not_launched(
    folder,
):
    slo = {"ttft": "2000 ms", "itl": "0.05 ms", "goodput": "50%"}  # 38 MB in 50 µs: 750 GB/s
    folder.environment = {**folder.environment, "RUNOFF_HOME": str(folder.path / "home")}
    file = folder.campaign([llama("f16")], contract={**CONTRACT, "slo": slo}, calibrate=True)

    done = folder.compare(file)

    run = folder.run
    place = run.folder.host("local") / "calibration.json"
    measured = read_calibration(place)
    (told,) = events(run, "calibrated")
    before, after = (
        written(run, name)["candidates"][0] for name in ("gates.json", "gates.calibrated.json")
    )
    assert done.code == 8, done.err  # nothing was left to measure
    assert (before["verdict"], after["verdict"]) == ("unknown", "unlikely")
    assert after["decided_by"] == "bandwidth"
    assert "at the measured" in after["reason"]
    core = measured.cpu.figure("memory_read", where="core").value  # it has one thread
    used = {each["name"]: each["measurement"]["value"] for each in after["calibrated"]}
    assert used["bandwidth"] == min(core, measured.cpu.figure("memory_read").value)
    assert told["fingerprint"] == measured.fingerprint
    assert list(told["given_up"]) == ["f16"]
    assert kept(run) == []
    assert not events(run, "launching")
    assert "preparing" not in done.err
    assert "was unknown by assumptions and is unlikely by what was measured" in done.err
    files = read_file(run.folder.file("manifest.json"), Manifest).files
    assert {"hosts/local/calibration.json", "gates.calibrated.json"} <= set(files)
    page = run.folder.file("report.html").read_text()
    assert "Assumptions that were measured" in page
    assert "What the host reaches" in page
    assert "f16 was unknown by assumptions, as the plan was made, and is unlikely by" in page
    (stored,) = (folder.path / "home" / "state" / "calibrations").iterdir()
    assert json.loads(stored.read_text()) == json.loads(place.read_text())


def test_a_calibration_that_may_take_longer_than_is_left_is_not_begun(folder):
    file = folder.campaign([llama("f16")], calibrate=True, budget={"hours": 0.01})

    done = folder.compare(file)

    run = folder.run
    assert done.code == 9, done.err
    assert events(run, "budget-stop")
    assert "a calibration of local" in done.err + done.out
    assert not (run.folder.host("local") / "calibration.json").exists()
    assert not events(run, "launching")
