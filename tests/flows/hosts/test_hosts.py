"""This machine and one over SSH are used by the same calls."""

from __future__ import annotations

import json
import os
import signal
import socket
from pathlib import Path

import pytest

from deploy_templates.control import DeviceControl, device_steps
from flows.errors import UsageError
from flows.hosts.here import LocalHost
from flows.hosts.there import FarHost
from flows.launch_plans import Requested
from flows.launching import Prepared
from tests.flows.fake_smi.stand_in import StandIn
from tests.flows.remote.conftest import box, make_host, shared_host, ssh_keys
from tests.flows.remote.hosts import until

__all__ = ["box", "make_host", "shared_host", "ssh_keys"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]
ORDER = device_steps(DeviceControl(graphics_clock_mhz=1500), "nvidia", [0])


@pytest.fixture(params=["here", "there"])
def host(request):
    if request.param == "here":
        return LocalHost()
    return FarHost(request.getfixturevalue("box"), is_own=False)


def test_an_address_is_reached_or_the_reason_is_told(host):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        assert host.reaches(address) is None
    assert "refused" in str(host.reaches(address)).lower()


def test_settings_are_held_and_put_back(host, tmp_path):
    settings = host.hold([], tmp_path)
    assert settings.record["settings"] == []

    settings.end()

    assert settings.record == {"settings": [], "leftover": None, "threats": []}


def test_settings_of_this_machine_are_put_back_though_we_are_killed(tmp_path, monkeypatch):
    smi = StandIn(tmp_path, monkeypatch).is_of("h100-sxm-535")
    before = smi.set_on(0)
    pid = os.fork()
    if not pid:
        LocalHost().hold(ORDER, tmp_path / "state")
        (tmp_path / "held").write_text(json.dumps(smi.set_on(0)))
        signal.pause()
    until((tmp_path / "held").exists)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)

    assert "1500" in (tmp_path / "held").read_text()
    until(lambda: smi.set_on(0) == before or "1500" not in json.dumps(smi.set_on(0)))
    until(lambda: not (tmp_path / "state" / "restore.sh").exists())


def test_a_server_on_this_machine_is_not_opened_to_others(tmp_path: Path):
    prepared = Prepared(requested=Requested(name="a"), programs={})

    with pytest.raises(UsageError, match="from this machine alone"):
        LocalHost().start(
            prepared,
            tmp_path,
            name="a",
            environment={},
            progress=lambda _progress: None,
            is_open=True,
        )
