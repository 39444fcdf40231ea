"""The report shows what was asked of a machine, and what its devices did."""

from __future__ import annotations

import pytest

from reports.conclude import conclude
from reports.control_tables import settings_table, telemetry_table
from reports.read_report import read_report
from reports.run.control_file import ControlFile, ControlSetting, Observed
from reports.run.read import file_text
from reports.telemetry.summary import summarise_telemetry
from reports.threats import threats
from tests.reports.run.builder import NOW, QUICK, Made, build_run
from tests.reports.telemetry.samples import steady, telemetry

CONTROL = ControlFile(
    host="host-B",
    settings=(
        ControlSetting(
            name="graphics_clock_mhz",
            target="GPU 0",
            requested="1410",
            before="1755",
            applied="1410",
            status="applied",
            observed=Observed(low=1395, median=1410, high=1410),
            restored=True,
        ),
        ControlSetting(
            name="governor", target="host", requested="performance", status="not permitted"
        ),
    ),
    threats=("governor of host: not permitted",),
)
SAMPLED = summarise_telemetry(
    telemetry(steady(reasons=0x4)), targets_mhz={0: 1410}, output_tokens=8000
)


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    made = Made(name="B", facts={"ranks": ("primary",)}, cell={"telemetry": SAMPLED})
    folder = build_run(tmp_path_factory.mktemp("run"), [made], **QUICK)
    (folder.host("host-B") / "control.json").write_text(file_text(CONTROL))
    conclude(folder, now=NOW)
    return read_report(folder, "0" * 64)


def test_settings_stand_with_what_was_asked_seen_and_restored(report):
    table = settings_table(report.controls)

    assert [[cell.text for cell in row] for row in table.rows] == [
        ["host-B", "graphics clock mhz, GPU 0", "1410", "1755", "1410", "1395 to 1410", "yes"],
        ["host-B", "governor, host", "performance", "–", "not permitted", "–", "–"],
    ]


def test_devices_stand_launch_by_launch_with_their_energy(report):
    table = telemetry_table(report)

    assert len(table.rows) == 3
    assert [cell.line for cell in table.rows[0]] == [
        "B, launch 0",
        "GPU 0",
        "1410 to 1410 MHz (median 1410)",
        "100% of samples (1410 MHz)",
        "500 W",
        "60.0 °C",
        "0.500 J (all devices, counter)",
        "software power cap",
    ]


def test_what_was_not_permitted_is_a_threat_of_the_run(report):
    assert "host-B: governor of host: not permitted." in threats(report)


def test_a_run_without_control_and_samples_has_no_such_tables(tmp_path):
    made = Made(name="B", facts={"ranks": ("primary",)})
    folder = build_run(tmp_path, [made], **QUICK)
    conclude(folder, now=NOW)
    report = read_report(folder, "0" * 64)

    assert settings_table(report.controls) is None
    assert telemetry_table(report) is None
