"""The controller as a program of its own, as a campaign elsewhere starts it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from deploy_templates.control import DeviceControl, device_steps
from flows.control.apply import SCRIPT

pytestmark = pytest.mark.e2e


@pytest.fixture
def controller(smi, tmp_path):
    order, folder = tmp_path / "order.json", tmp_path / "state"
    asked = DeviceControl(persistence=None, graphics_clock_mhz=1410)
    order.write_text(json.dumps(device_steps(asked, "nvidia", (0,))))
    smi.put("sudo", "exit 1")  # no administrator's rights beyond our own

    def start(*words: str, more: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "flows.control", *words, str(folder), *more],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=dict(os.environ),
        )

    return start, order, folder


def test_it_holds_the_settings_until_nobody_listens(controller, smi):
    start, order, _ = controller
    with start("hold", str(order), more=("--with-caller",)) as process:
        first = json.loads(process.stdout.readline())
        inside = smi.set_on()
        out, _ = process.communicate()

    assert process.returncode == 0
    assert first["settings"][0]["status"] == "applied"
    assert inside == {"graphics": "1410"}
    assert json.loads(out)["settings"][0]["restored"] is True
    assert smi.set_on() == {}


def test_it_puts_back_when_it_is_told_to_end(controller, smi):
    start, order, _ = controller
    with start("hold", str(order)) as process:
        process.stdout.readline()
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=20)

    assert json.loads(out)["settings"][0]["restored"] is True
    assert smi.set_on() == {}


def test_what_it_left_when_killed_is_put_back_by_name(controller, smi):
    start, order, folder = controller
    with start("hold", str(order)) as process:
        process.stdout.readline()
        process.kill()
        process.communicate()
    assert smi.set_on() == {"graphics": "1410"}
    assert (folder / SCRIPT).exists()

    with start("restore") as again:
        out, _ = again.communicate()

    assert again.returncode == 0
    assert b"put back" in out
    assert smi.set_on() == {}
