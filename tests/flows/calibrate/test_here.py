"""This machine calibrated for real, and what its gates then say."""

from __future__ import annotations

import datetime as dt
import json
import os
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
import yaml

from catalog.calibration.file import CalibrationFile, read_calibration
from catalog.load import load_catalog
from flows.calibrate.build import built
from flows.calibrate.measure import HereTarget
from flows.calibrate.order import SHORT, order_of
from flows.errors import InfrastructureError
from flows.host_lock import take
from flows.machine.found import FoundMachine
from flows.system.here import facts_here

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("calibrate")]
CAMPAIGN = {
    "schema_version": 1,
    "name": "here",
    "contract": {
        "model": "tiny-llama-110m",
        "precision": {"weights": "float16", "kv_cache": "float16"},
        "prompt_tokens": 32,
        "output_tokens": 16,
        "concurrency": 4,
        "slo": {"ttft": "60000 ms", "itl": "20000 ms"},
    },
    "exploratory": True,  # so is the calibration, whoever else uses this machine
    "candidates": [
        {"name": "f16", "host": "local", "runtime": "llama_server", "version": "b11549"}
    ],
}


@dataclass
class Home:
    """A user with a state folder and locks of their own."""

    path: Path

    def runoff(self, *words: str | Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", "-m", "flows.cli", *map(str, words)],
            cwd=self.path,
            env={
                **os.environ,
                "RUNOFF_HOME": str(self.path / "home"),
                "RUNOFF_LOCKS": str(self.path / "locks"),
                "NO_COLOR": "1",
            },
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )

    def screened(self, *words: str | Path) -> tuple[dict, str]:
        """The only candidate, and what was noted."""
        done = self.runoff("screen", self.path / "here.yaml", "--json", *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)["candidates"][0], done.stderr

    @property
    def stored(self) -> Path:
        (path,) = (self.path / "home" / "state" / "calibrations").glob("*.json")
        return path


@pytest.fixture(scope="module")
def home(tmp_path_factory) -> Home:
    made = Home(tmp_path_factory.mktemp("calibrated"))
    (made.path / "here.yaml").write_text(yaml.safe_dump(CAMPAIGN))
    before, noted = made.screened()
    assert (before["verdict"], noted) == ("unknown", "")
    words = ("--short", "--exploratory", "--catalog-out", made.path / "mine")
    done = made.runoff("calibrate", "localhost", *words)
    assert done.returncode == 0, done.stderr
    (made.path / "said.txt").write_text(done.stdout)
    (made.path / "told.txt").write_text(done.stderr)
    return made


@pytest.fixture(scope="module")
def file(home) -> CalibrationFile:
    return read_calibration(home.stored)


def test_memory_and_arithmetic_of_this_machine_are_measured_with_their_spread(file):
    cpu, system = file.cpu, facts_here("local", dt.datetime.now(dt.UTC)).cpu
    wanted = {("memory_read", "all"), ("memory_triad", "all"), ("matmul", "all")}

    assert wanted <= {(each.name, each.where) for each in cpu.figures}
    for each in cpu.figures:
        assert len(each.blocks) == SHORT.blocks
        assert each.low < each.value < each.high or each.minimum == each.maximum
        assert each.minimum <= each.value <= each.maximum
        assert each.tool
    read = cpu.figure("memory_read")
    assert read.working_set_bytes >= 4 * system.last_level_bytes
    assert read.is_beyond_cache
    assert 1e8 < read.value < 1e13
    assert (file.host, file.mode) == ("local", "short")
    # links have a load where something measured them: this host may lack PyTorch
    assert {"memory", "arithmetic"} <= set(file.conditions["loads"])


def test_each_attempt_is_told_on_standard_error_as_it_begins(home):
    told = (home.path / "told.txt").read_text().splitlines()

    assert told == [
        f"{group}: attempt 1 of at most 1" for group in ("memory", "arithmetic", "links")
    ]


def test_what_could_not_be_measured_is_named_with_its_reason_and_is_no_zero(home, file):
    why = {each.what: each.why for each in file.unavailable}
    said = (home.path / "said.txt").read_text()

    assert why
    assert all(why.values())
    assert "Not measured" in said
    for what in why:
        assert what in said


def test_the_gates_follow_what_was_measured_at_once(home, file):
    candidate, noted = home.screened()
    gates = {gate["gate"]: gate for gate in candidate["gates"]}
    bandwidth = gates["bandwidth"]
    used = {each["name"]: each for each in bandwidth["inputs"]}
    read = file.cpu.figure("memory_read").value

    assert noted == ""
    assert candidate["verdict"] in ("pass", "unlikely")
    assert used["achieved_bandwidth"]["basis"] == "measurement"
    assert used["achieved_bandwidth"]["value"] == read
    moved = used["assumed_step_bytes"]["value"] / read
    worked = used["assumed_step_flops"]["value"] / used["achieved_compute"]["value"]
    assert bandwidth["assumption"]["value"] == pytest.approx(1e3 * max(moved, worked))
    assert bandwidth["bound"] is None  # no datasheet, no bound
    assert [each["name"] for each in candidate["calibrated"]] == ["bandwidth", "compute"]


def test_they_are_as_before_without_it(home):
    candidate, _ = home.screened("--calibration", "none")

    assert candidate["verdict"] == "unknown"
    assert candidate["calibrated"] == []


def test_the_catalog_that_it_writes_is_sound_and_screens(home, file):
    checked = home.runoff("catalog", "check", "--catalog", home.path / "mine")
    device = load_catalog((home.path / "mine",)).device("local-cpu")

    assert "mine/devices/local-cpu.yaml" not in checked.stdout + checked.stderr
    assert device.achieved.bandwidth.value == file.cpu.figure("memory_read").value
    assert device.achieved.bandwidth.basis == "measurement"
    assert device.achieved.bandwidth.source.startswith("exploratory calibration of local")
    assert device.achieved.bandwidth.date == file.day
    changed = CAMPAIGN["candidates"][0] | {"device": "local-cpu"}
    (home.path / "here.yaml").write_text(yaml.safe_dump(CAMPAIGN | {"candidates": [changed]}))
    try:
        candidate, _ = home.screened("--catalog", home.path / "mine", "--calibration", "none")
    finally:
        (home.path / "here.yaml").write_text(yaml.safe_dump(CAMPAIGN))
    assert candidate["verdict"] in ("pass", "unlikely")


def test_after_a_change_of_the_machine_it_is_stale_and_said_so(home, file):
    whole = home.stored.read_text()
    other = file.model_copy(
        update={"fingerprint": "0" * 64, "hardware": file.hardware | {"kernel": "1.0"}}
    )
    home.stored.write_text(other.model_dump_json())
    try:
        candidate, noted = home.screened()
        refused = home.runoff("screen", home.path / "here.yaml", "--calibration", "local")
    finally:
        home.stored.write_text(whole)

    assert candidate["verdict"] == "unknown"
    assert "is stale and not used: kernel was 1.0, is " in noted
    assert refused.returncode == 2
    assert "is stale and not used" in refused.stderr


def test_a_machine_that_a_campaign_holds_is_not_disturbed(home):
    now = dt.datetime.now(dt.UTC)
    held = {"campaign": "mine", "run": "r1", "now": now, "expires": now + dt.timedelta(hours=1)}
    taken, _ = take(home.path / "locks", "local", **held)

    refused = home.runoff("calibrate")

    assert refused.returncode == 8
    assert "mine" in refused.stderr
    assert taken.token


@pytest.mark.parametrize("name", ["nowhere", "aws:eu-1/x", "ssh-box"])
def test_a_host_that_is_no_machine_of_ours_is_refused(home, name):
    refused = home.runoff("calibrate", name)

    assert refused.returncode == 2
    assert "neither this machine nor one over SSH" in refused.stderr


def test_without_a_compiler_numpy_measures_the_same_and_says_how_it_counts():
    system = facts_here("local", dt.datetime.now(dt.UTC))
    none = FoundMachine(why_none="none")
    asked = order_of(system, none, replace(SHORT, blocks=3, exploratory=True))
    memory = {**asked["groups"][0]}
    memory["steps"] = [step for step in memory["steps"] if step["where"] == "all"]

    raw = HereTarget(Path("/nowhere")).run(
        {**asked, "groups": [memory], "without_compiler": True}
    )
    found = built(
        raw,
        host="local",
        system=system,
        found=none,
        manner=replace(SHORT, exploratory=True),
        catalog=load_catalog(),
        now=dt.datetime.now(dt.UTC),
    )

    read, triad = found.cpu.figures
    assert read.tool.startswith("NumPy ")
    assert (read.name, triad.name) == ("memory_read", "memory_triad")
    assert triad.bytes_counted.startswith("40 B an element in two passes")
    assert min(read.value, triad.value) > 1e8


def test_a_program_that_fails_here_is_told_with_what_it_said(monkeypatch):
    monkeypatch.setattr("flows.calibrate.measure.MODULE", "flows.calibrate.no_such_module")

    with pytest.raises(InfrastructureError, match=r"calibration of 'local': .*no_such_module"):
        HereTarget(Path("/nowhere")).run({"groups": []})
