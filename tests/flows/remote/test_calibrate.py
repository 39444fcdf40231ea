"""A host over SSH calibrated: by a job there, whose result comes home and whose folder goes."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import json
import os
import subprocess
import sys
import venv
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.calibration.file import CalibrationFile
from catalog.load import load_catalog
from flows.calibrate.library import lent_numpy
from flows.calibrate.measure import FarTarget, calibrated
from flows.calibrate.order import SHORT
from flows.errors import InfrastructureError
from flows.remote.facts import remote_facts
from tests.flows.remote.hosts import SshHost

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]
QUICK = replace(SHORT, blocks=2, block_s=0.001, exploratory=True)
COMPILERS = ("gcc", "g++", "cc", "c89", "c99", "clang")
NOW = dt.datetime(2026, 11, 30, tzinfo=dt.UTC)


class BareHost(SshHost):
    """A host without a compiler, whose Python has nothing but itself."""

    def __post_init__(self) -> None:
        super().__post_init__()
        venv.create(self.folder / "env", symlinks=True)
        bare = self.folder / "env" / "bin"
        for program in Path("/usr/bin").iterdir():
            if not program.name.startswith((*COMPILERS, "python")):
                (bare / program.name).symlink_to(program)
        text = self.config.read_text()
        (line,) = [each for each in text.splitlines() if each.startswith("SetEnv PATH=")]
        other = " ".join([f"SetEnv PATH={bare}", *line.split()[2:]])
        self.config.write_text(text.replace(line, other))


def test_a_host_with_neither_compiler_nor_numpy_is_lent_ours_once(make_host, remote):
    host = make_host("bare", BareHost)
    there = remote(host, python=str(host.folder / "env" / "bin" / "python"))
    memory = replace(QUICK, block_s=0.01)

    told: list[str] = []

    file = calibrated(FarTarget("ssh:box", there), memory, load_catalog(), NOW, told.append)

    assert told[:2] == ["memory: attempt 1 of at most 1", "arithmetic: attempt 1 of at most 1"]
    release = importlib.metadata.version("numpy")
    read, product = (file.cpu.figure(name) for name in ("memory_read", "memory_triad"))
    assert read.tool == f"NumPy {release}"
    assert product.value > 1e8
    assert file.cpu.figure("matmul", precision="fp32").tool.startswith(f"NumPy {release} (")
    places = there.ask("paths", pattern=f"{there.equipped.root}/libraries/*")
    assert [Path(place).name.startswith(f"numpy-{release}-") for place in places] == [True]
    assert lent_numpy(there) == places[0]


def test_a_program_that_fails_there_is_told_with_what_it_said(box, monkeypatch):
    monkeypatch.setattr("flows.calibrate.measure.MODULE", "flows.calibrate.no_such_module")

    with pytest.raises(
        InfrastructureError, match=r"calibration of 'ssh:box': .*no_such_module"
    ):
        calibrated(FarTarget("ssh:box", box), QUICK, load_catalog(), NOW)

    assert box.ask("jobs", folder=f"{box.equipped.root}/jobs") == {}


def test_the_command_locks_the_host_measures_it_and_leaves_nothing_there(
    shared_host, box, tmp_path
):
    environment = {
        **os.environ,
        **shared_host.client(tmp_path),
        "RUNOFF_HOME": str(tmp_path / "home"),
    }
    words = ("calibrate", "ssh:box", "--short", "--exploratory", "--json")

    done = subprocess.run(
        [sys.executable, "-P", "-m", "flows.cli", *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    file = CalibrationFile.model_validate(told)
    assert file.host == "ssh:box"
    assert file.cpu.figure("memory_read").value > 1e8
    assert file.cpu.figure("memory_read").tool.startswith("C program")
    assert file.cpu.title == remote_facts(box, "box").cpu.model
    assert box.ask("paths", pattern=f"{box.equipped.root}/jobs/*") == []
    (stored,) = (tmp_path / "home" / "state" / "calibrations").iterdir()
    assert stored.name == f"ssh-box--{told['fingerprint'][:16]}.json"
    assert json.loads(stored.read_text()) == told
    assert not list((shared_host.folder / "locks").glob("*.json"))
