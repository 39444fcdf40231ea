"""From the launch to the first command: AWS's answer, the key that we gave, a real sshd."""

from __future__ import annotations

import base64
import getpass
import time
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from flows.entering import login_to
from flows.errors import InfrastructureError
from flows.ssh import connect
from tests.conftest import refuse_or_skip
from tests.flows.amazon.conftest import EXPIRES, left_in, order
from tests.flows.remote.hosts import SshHost, missing

pytestmark = pytest.mark.e2e


@pytest.fixture
def booted(driver, world, ledger, tmp_path):
    """A rented machine whose first boot is played here: cloud-init's files, keys and sshd."""
    if (reason := missing()) is not None:
        refuse_or_skip(reason)
    machine = driver.ready(driver.acquire(order(), ledger), ledger)
    (asked,) = world.parameters("RunInstances")
    told = yaml.safe_load(base64.b64decode(asked["UserData"]))
    (imported,) = world.parameters("ImportKeyPair")
    folder, keys = tmp_path / "host", tmp_path / "keys"
    folder.mkdir()
    keys.mkdir()
    private = folder / "host_key"
    private.write_text(told["ssh_keys"]["ed25519_private"])
    private.chmod(0o600)
    (folder / "host_key.pub").write_text(told["ssh_keys"]["ed25519_public"])
    (keys / "user_key").touch()
    (keys / "user_key.pub").write_bytes(base64.b64decode(imported["PublicKeyMaterial"]))
    for file in told["write_files"]:
        path = folder / "root" / file["path"].lstrip("/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file["content"])
        path.chmod(int(file["permissions"], 8))
    host = SshHost(folder, keys)
    host.start()
    there = {"address": "127.0.0.1", "port": host.port, "user": getpass.getuser()}
    yield machine, replace(login_to(machine), **there), folder / "root"
    host.stop()


def test_a_rented_machine_is_entered_with_the_keys_that_were_made_for_it(
    booted, driver, ledger, ec2
):
    machine, login, _ = booted

    assert login_to(machine).address == machine.address
    assert login_to(machine).user == "ubuntu"
    with connect(login) as connection:
        assert connection.run("echo here").output == b"here\n"

    driver.release(machine, ledger)
    assert left_in(ec2) == {}
    assert not Path(login.keys[0]).exists()


def test_a_machine_that_shows_another_key_is_not_entered(booted):
    _, login, _ = booted
    other = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIM4uv04eA4PIPmPVp0ZSsxi6IRnN3NuQxcp/RTKfxYCS"

    with pytest.raises(InfrastructureError):
        connect(replace(login, pinned=other))


def test_the_machines_own_heartbeat_moves_its_end(booted):
    machine, login, root = booted
    words = machine.noted["heartbeat"].removeprefix("sudo ").replace("SECONDS", "600")
    state = root / "var/lib/runoff"
    assert int((state / "expires").read_text()) == int(EXPIRES.timestamp())

    with connect(login) as connection:
        done = connection.run(f"RUNOFF_DEAD_MAN={state} {root}{words}")

    assert done.code == 0
    assert abs(int((state / "deadline").read_text()) - time.time() - 600) < 60


def test_a_machine_without_an_address_is_not_entered(driver, ledger):
    machine = driver.acquire(order(), ledger)

    with pytest.raises(InfrastructureError, match="it has no address yet"):
        login_to(replace(machine, address=None))
    with pytest.raises(InfrastructureError, match="it has no login yet"):
        login_to(replace(machine, login=None))
