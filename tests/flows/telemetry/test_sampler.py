"""The sampler as the program that it is, beside stand-ins of the vendors' tools."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from flows.errors import InfrastructureError
from flows.telemetry.home import command, kept, parsed, sampled_here
from reports.run.telemetry_file import COLUMNS, read_telemetry
from reports.telemetry.summary import summarise_telemetry
from tests.conftest import refuse_or_skip

NVML = r"""
#include <stddef.h>
static unsigned long long used[2] = {1000, 5000};
int nvmlInit_v2(void) { return 0; }
int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{ *device = &used[index]; return index == 1 ? 15 : 0; }
int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *mj)
{ *mj = *(unsigned long long *)device += 50; return 0; }
"""

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="session")
def nvml(tmp_path_factory) -> str:
    """A driver's library of two devices, of which one refuses."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        refuse_or_skip("no C compiler: install Debian's package gcc")
    folder = tmp_path_factory.mktemp("nvml")
    (folder / "nvml.c").write_text(NVML)
    library = folder / "libnvml.so"
    subprocess.run(
        [compiler, "-shared", "-fPIC", str(folder / "nvml.c"), "-o", str(library)], check=True
    )
    return str(library)


def lines_of(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def sampled(path: Path, seconds: float, **more) -> None:
    with sampled_here(path, every_s=0.1, **more):
        time.sleep(seconds)


@pytest.mark.parametrize(
    ("scene", "devices", "reasons"),
    [("h100-sxm-535", 2, 0), ("a100-pcie-470", 1, 0), ("l4-550", 1, 4), ("h200-580", 1, 0)],
)
def test_every_device_is_sampled_through_the_block(smi, tmp_path, scene, devices, reasons):
    smi.is_of(scene)
    before_ns = time.monotonic_ns()
    sampled(tmp_path / "lines", 0.5)
    after_ns = time.monotonic_ns()

    told = parsed((tmp_path / "lines").read_text(), {"measured": (before_ns, after_ns)})
    found = [row for row in told.rows if row["source"] == "device"]

    assert told.tool == "nvidia-smi"
    assert {row["device"] for row in found} == set(range(devices))
    assert len(found) >= 3 * devices
    assert {row["reasons"] for row in found} == {reasons}
    slack_ns = 50_000_000  # the tool stamps by the wall clock, in milliseconds
    assert all(before_ns - slack_ns < row["at_ns"] < after_ns + slack_ns for row in told.rows)


def test_lines_become_a_file_with_the_window_and_the_cost(smi, tmp_path):
    lines, path = tmp_path / "lines", tmp_path / "0.telemetry.parquet"
    with sampled_here(lines, every_s=0.1):
        time.sleep(0.2)
        first_ns = time.monotonic_ns()
        time.sleep(0.5)
        last_ns = time.monotonic_ns()
    written = kept(lines.read_text(), path, {"measured": (first_ns, last_ns)})
    found = summarise_telemetry(read_telemetry(path), targets_mhz={0: 1755, 1: 1755})

    assert found["devices"]["0"]["share_at_target"] == 1.0
    assert found["devices"]["1"]["is_whole"]
    assert found["energy_from"] == "power samples"
    assert found["energy_j"] == pytest.approx(2 * 530.02 * found["window_s"], rel=1e-5)
    assert found["host"]["steal_share"] is not None
    assert written.share_of_core > 0


def test_the_windows_of_another_machine_are_moved_to_its_clock(smi, tmp_path):
    sampled(tmp_path / "lines", 0.1)
    text = (tmp_path / "lines").read_text()

    told = kept(text, tmp_path / "t", {"measured": (10, 20)}, offset_ns=5)

    assert read_telemetry(tmp_path / "t").windows == told.windows == {"measured": (15, 25)}


def test_energy_is_counted_by_the_drivers_library(smi, tmp_path, nvml):
    words = [*command(tmp_path / "lines", every_s=0.1), "--nvml", nvml, "--most", "0.4"]
    with subprocess.Popen(words, stdin=subprocess.PIPE) as process:
        assert process.wait(20) == 0

    told = [row for row in lines_of(tmp_path / "lines") if "energy_mj" in row]
    assert [row["energy_mj"] for row in told[:3]] == [1050, 1100, 1150]
    assert {row["device"] for row in told} == {0}


def test_amds_tool_is_read_where_there_is_no_other(smi, tmp_path):
    smi.put("nvidia-smi", "exit 127")
    smi.is_of("mi300x-rocm70")
    path = tmp_path / "lines"
    with sampled_here(path, every_s=0.1):  # the tool's first look comes at once
        until_s = time.monotonic() + 5
        while '"device"' not in path.read_text() and time.monotonic() < until_s:
            time.sleep(0.05)

    assert lines_of(path)[0]["every_s"] == 5  # its looks are costly
    told = [row for row in lines_of(tmp_path / "lines") if row.get("source") == "device"]
    assert told
    assert told[0]["reasons"] == 4
    assert told[0]["graphics_mhz"] == 2098.0


def test_a_machine_without_devices_is_sampled_too(smi, tmp_path):
    smi.put("nvidia-smi", "exit 127")
    smi.put("amd-smi", "exit 127")
    sampled(tmp_path / "lines", 0.3)

    _, *rest = lines_of(tmp_path / "lines")
    assert {row["source"] for row in rest[:-1]} == {"host"}
    assert "ended" in rest[-1]


def test_lines_hold_nothing_that_the_file_has_no_column_for(smi, tmp_path):
    sampled(tmp_path / "lines", 0.3)
    _, *rest = lines_of(tmp_path / "lines")

    assert {name for row in rest[:-1] for name in row} <= set(COLUMNS)


def test_a_sampler_whose_campaign_is_gone_ends(smi, tmp_path):
    code = (
        "import subprocess, sys, time; sys.argv.pop(0);"
        "subprocess.Popen(sys.argv, stdin=subprocess.PIPE); time.sleep(1); raise SystemExit"
    )
    words = [*command(tmp_path / "lines", every_s=0.1), "--with-caller"]
    subprocess.run([sys.executable, "-c", code, *words], check=False, timeout=20)
    until_s = time.monotonic() + 10
    while "ended" not in (tmp_path / "lines").read_text() and time.monotonic() < until_s:
        time.sleep(0.05)

    assert "ended" in lines_of(tmp_path / "lines")[-1]


def test_a_file_that_was_cut_off_keeps_its_whole_lines(smi, tmp_path):
    sampled(tmp_path / "lines", 0.3)
    whole = (tmp_path / "lines").read_text().splitlines()
    told = parsed("\n".join(whole[:-1])[:-10], {})

    assert told.share_of_core is None
    assert len(told.rows) == len(whole) - 3


def test_lines_of_something_else_are_refused():
    with pytest.raises(InfrastructureError, match="no header"):
        parsed("hello\n", {})


def test_the_sampler_keeps_to_the_cpus_that_it_is_given(smi, tmp_path):
    cpu = max(os.sched_getaffinity(0))
    smi.put(
        "nvidia-smi",
        f"grep Cpus_allowed_list /proc/self/status >'{tmp_path}/seen'; exit 127",
    )
    with sampled_here(tmp_path / "lines", every_s=0.1, cpus=(cpu,)):
        pass

    assert (tmp_path / "seen").read_text().split() == ["Cpus_allowed_list:", str(cpu)]
