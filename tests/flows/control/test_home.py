from __future__ import annotations

from deploy_templates.control import DeviceControl, device_steps
from flows.control.apply import controlled
from flows.control.home import control_file
from flows.control.host import Here
from reports.run.control_file import ControlFile
from reports.run.read import file_text, read_file
from reports.telemetry.summary import summarise_telemetry
from tests.reports.telemetry.samples import steady, telemetry


def held(tmp_path, asked=None, **more):
    order = device_steps(
        asked or DeviceControl(graphics_clock_mhz=1410), "nvidia", (0,), **more
    )
    with controlled(Here(), order, str(tmp_path / "state"), dead_man=None) as control:
        pass
    return control_file("h", control.to_json(), [summarise_telemetry(telemetry(steady()))])


def test_asked_applied_observed_and_restored_stand_side_by_side(smi, tmp_path):
    file = held(tmp_path)
    (tmp_path / "control.json").write_text(file_text(file))

    clock = read_file(tmp_path / "control.json", ControlFile).settings[1]
    assert (clock.requested, clock.before, clock.applied, clock.restored) == (
        *("1410", "1755", "1410"),
        True,
    )
    assert (clock.observed.low, clock.observed.high) == (1410.0, 1410.0)
    assert file.clock_control == "locked"
    assert file.targets_mhz == {0: 1410.0}


def test_clocks_that_were_not_permitted_are_no_control(smi, tmp_path):
    smi.is_of("h100-sxm-535", "permission")
    file = held(tmp_path)

    assert file.clock_control == "none"
    assert file.targets_mhz == {}
    assert "graphics clock mhz of GPU 0: not permitted" in file.threats[1]


def test_a_run_that_asked_for_no_clock_controls_none(smi, tmp_path):
    assert held(tmp_path, DeviceControl()).clock_control == "none"
