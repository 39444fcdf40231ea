from __future__ import annotations

import os
import subprocess

import pytest

from deploy_templates.control import DeviceControl, device_steps
from flows.control.apply import SCRIPT, Control, apply, controlled, restore_leftover
from flows.control.host import Here

ASKED = DeviceControl(power_limit_w=500, graphics_clock_mhz=1410, memory_clock_mhz=2619)


def steps(asked=ASKED, devices=(0,), **more):
    return device_steps(asked, "nvidia", devices, **more)


def hold(order, tmp_path):
    return controlled(Here(), order, str(tmp_path / "state"), dead_man=None)


def statuses(control):
    return {each.name: each.status for each in control.outcomes}


def test_clocks_are_asked_read_back_and_put_back(smi, tmp_path):
    with hold(steps(), tmp_path) as control:
        inside = smi.set_on()

    assert statuses(control) == {
        "persistence": "applied",
        "power_limit_w": "applied",
        "graphics_clock_mhz": "applied",
        "memory_clock_mhz": "applied",
    }
    assert inside == {
        "persistence_mode": "Enabled",
        "power.limit": "500.00",
        "graphics": "1410",
        "memory": "2619",
    }
    assert smi.set_on() == {"persistence_mode": "Disabled", "power.limit": "700.00"}
    assert all(each.restored for each in control.outcomes)
    assert not (tmp_path / "state" / SCRIPT).exists()
    assert control.threats == ()


def test_settings_are_put_back_last_one_first(smi, tmp_path):
    with hold(steps(), tmp_path):
        pass

    assert [call.split()[2] for call in smi.calls] == [
        *("-pm", "-pl", "-lgc", "-lmc"),
        *("-rmc", "-rgc", "-pl", "-pm"),
    ]


def test_every_device_is_asked(smi, tmp_path):
    with hold(steps(devices=(0, 1)), tmp_path):
        assert smi.set_on(0)["graphics"] == smi.set_on(1)["graphics"] == "1410"


def test_what_is_as_asked_is_left_alone(smi, tmp_path):
    smi.is_of("h200-580")
    with hold(steps(DeviceControl(power_limit_w=700)), tmp_path) as control:
        pass

    assert statuses(control) == {"persistence": "applied", "power_limit_w": "applied"}
    assert [each.restored for each in control.outcomes] == [None, None]
    assert smi.calls == []


def test_what_is_not_permitted_is_a_threat_and_no_failure(smi, tmp_path):
    smi.is_of("h100-sxm-535", "permission")
    with hold(steps(), tmp_path) as control:
        pass

    assert set(statuses(control).values()) == {"not permitted"}
    assert "graphics clock mhz of GPU 0: not permitted" in control.threats[2]
    assert smi.set_on() == {}
    assert not (tmp_path / "state" / SCRIPT).exists()


def test_a_tool_that_says_all_done_of_what_it_cannot_do_is_not_believed(smi, tmp_path):
    smi.is_of("a100-pcie-470", "unsupported")
    with hold(steps(), tmp_path) as control:
        pass

    assert statuses(control)["graphics_clock_mhz"] == "unavailable"
    assert statuses(control)["persistence"] == "applied"


def test_a_clock_that_reads_lower_is_accepted_and_left_to_the_telemetry(smi, tmp_path):
    smi.is_of("l4-550", "capped")
    with hold(steps(DeviceControl(graphics_clock_mhz=2040)), tmp_path) as control:
        pass

    clock = control.outcomes[1]
    assert (clock.status, clock.applied) == ("accepted", "1005")
    assert "graphics" not in smi.set_on()


def test_a_slice_cannot_have_the_clocks_of_the_whole_device(smi, tmp_path):
    smi.is_of("a100-mig-550")
    with hold(steps(mig=(0,)), tmp_path) as control:
        pass

    assert statuses(control)["graphics_clock_mhz"] == "refused"
    assert statuses(control)["power_limit_w"] == "refused"
    assert smi.calls == []


def test_a_machine_without_the_tool_or_its_driver_has_no_such_setting(
    smi, tmp_path, monkeypatch
):
    smi.is_of("h100-sxm-535", "silent")
    with hold(steps(), tmp_path) as control:
        pass
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    with hold(steps(), tmp_path) as bare:
        pass

    assert statuses(control)["power_limit_w"] == "unavailable"
    assert statuses(bare)["graphics_clock_mhz"] == "unavailable"


def test_a_tool_that_crashes_after_it_acted_is_undone(smi, tmp_path):
    smi.is_of("h100-sxm-535", "crash")
    with hold(
        steps(DeviceControl(persistence=None, graphics_clock_mhz=1410)), tmp_path
    ) as control:
        assert smi.set_on() == {"graphics": "1410"}
        smi.is_of("h100-sxm-535")

    assert statuses(control) == {"graphics_clock_mhz": "failed"}
    assert smi.set_on() == {}


def test_what_a_killed_controller_left_is_undone_by_the_next(smi, tmp_path):
    folder = str(tmp_path / "state")
    apply(Here(), steps(), folder, Control(), dead_man=None)  # and no more of it
    assert smi.set_on()["graphics"] == "1410"

    with hold(steps(DeviceControl(persistence=None, power_limit_w=600)), tmp_path) as control:
        inside = smi.set_on()

    assert control.leftover == "an earlier controller left its settings; they were put back"
    assert inside == {"persistence_mode": "Disabled", "power.limit": "600.00"}
    assert control.outcomes[0].before == "700.00"


def test_nothing_is_changed_while_an_earlier_experiment_is_not_undone(smi, tmp_path):
    folder = str(tmp_path / "state")
    apply(Here(), steps(), folder, Control(), dead_man=None)
    smi.is_of("h100-sxm-535", "permission")

    with hold(steps(), tmp_path) as control:
        pass
    smi.is_of("h100-sxm-535")

    assert "refused" in statuses(control).values()
    assert smi.set_on()["graphics"] == "1410"
    assert restore_leftover(Here(), folder, dead_man=None).endswith("put back")
    assert smi.set_on() == {"persistence_mode": "Disabled", "power.limit": "700.00"}


class Hurried(Here):
    """A machine whose programs end soon, or are ended."""

    def run(self, argv, *, within_s=0.3):
        return Here.run(self, argv, within_s=within_s)


def test_the_undo_of_many_devices_may_take_longer_than_one_program(tmp_path):
    (tmp_path / SCRIPT).write_text("sleep 0.6\n")

    assert Hurried().run(("sleep", "0.6")).code != 0
    assert restore_leftover(Hurried(), str(tmp_path), dead_man=None).endswith("put back")


def test_the_undo_lies_on_the_disk_before_the_first_change(smi, tmp_path):
    script = tmp_path / "state" / SCRIPT
    look = f'case "$*" in *-lgc*) cp "{script}" "{tmp_path}/seen";; esac'
    smi.put("nvidia-smi", f"{look}; echo 345")
    order = steps(DeviceControl(persistence=None, graphics_clock_mhz=1410))
    with hold(order, tmp_path):
        pass

    assert "nvidia-smi -i 0 -rgc || bad=1" in (tmp_path / "seen").read_text()


def test_the_switch_of_a_rented_machine_finds_the_undo(smi, tmp_path):
    switch = tmp_path / "switch"
    switch.mkdir()
    (switch / "expires").write_text("0\n")
    smi.put("shutdown", "exit 0")
    script = "deploy_templates/hosts/dead-man.sh"
    folder = str(tmp_path / "state")
    apply(Here(), steps(), folder, Control(), dead_man=str(switch))

    environment = {"RUNOFF_DEAD_MAN": str(switch), "PATH": f"{smi.programs}:/usr/bin:/bin"}
    subprocess.run(["sh", script], env={**os.environ, **environment}, check=True)

    assert smi.set_on() == {"persistence_mode": "Disabled", "power.limit": "700.00"}


@pytest.mark.parametrize("scene", ["mi300x-rocm62", "mi300x-rocm70"])
def test_amds_tool_is_asked_in_its_own_words(smi, tmp_path, scene):
    smi.is_of(scene)
    asked = DeviceControl(power_limit_w=600, graphics_clock_mhz=1900)
    with hold(device_steps(asked, "amd", (0,)), tmp_path) as control:
        pass

    assert statuses(control) == {"power_limit_w": "applied", "graphics_clock_mhz": "applied"}
    assert smi.calls == [
        "set --gpu 0 --power-cap 600",
        "set --gpu 0 --perf-determinism 1900",
        "set --gpu 0 --perf-level AUTO",
        "set --gpu 0 --power-cap 750",
    ]


def test_amds_tool_in_a_guest_is_refused(smi, tmp_path):
    smi.is_of("mi300x-rocm70", "permission")
    asked = DeviceControl(graphics_clock_mhz=1900, memory_clock_mhz=1300)
    with hold(device_steps(asked, "amd", (0,)), tmp_path) as control:
        pass

    assert statuses(control) == {
        "graphics_clock_mhz": "not permitted",
        "memory_clock_mhz": "unavailable",
    }
