"""A host over SSH is controlled by the same hands as this machine."""

from __future__ import annotations

import pytest

from flows.control.apply import SCRIPT, Control, apply, controlled
from flows.machine.aftermath import aftermath, uptime_s
from flows.machine.around import around
from flows.machine.look import found_machine
from flows.remote.control import controlled as hands_on

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]


@pytest.fixture
def setting(tmp_path):
    path = tmp_path / "setting"
    path.write_text("free\n")
    step = {
        "name": "clock",
        "target": "host",
        "wanted": "locked",
        "read": ["cat", str(path)],
        "set": ["sh", "-c", f"echo locked >'{path}'"],
        "restore": ["sh", "-c", f"echo {{before}} >'{path}'"],
    }
    return path, [step]


def test_a_setting_is_made_there_and_put_back(box, setting, tmp_path):
    path, order = setting
    with controlled(hands_on(box), order, str(tmp_path / "state"), dead_man=None) as control:
        inside = path.read_text()
        script = (tmp_path / "state" / SCRIPT).read_text()

    assert (inside, path.read_text()) == ("locked\n", "free\n")
    assert [(each.status, each.restored) for each in control.outcomes] == [("applied", True)]
    assert script.startswith("#!/bin/sh\n")
    assert not (tmp_path / "state" / SCRIPT).exists()


def test_what_a_lost_campaign_left_there_is_undone_by_the_next(box, setting, tmp_path):
    path, order = setting
    folder = str(tmp_path / "state")
    apply(hands_on(box), order, folder, Control(), dead_man=None)
    assert path.read_text() == "locked\n"

    with controlled(hands_on(box), [], folder, dead_man=None) as control:
        assert path.read_text() == "free\n"

    assert control.leftover is not None


def test_a_host_is_looked_at_from_afar(box):
    there = hands_on(box)

    assert uptime_s(there) > 0
    assert found_machine(there).why_none or found_machine(there).devices
    assert set(around(there)) >= {"disk_bytes", "network_cards", "bios"}
    assert aftermath(there)["memory"]["MemTotal"] > 0
