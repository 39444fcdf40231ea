"""A machine that a driver gave out is entered as its driver says."""

from __future__ import annotations

import datetime as dt
import threading
from dataclasses import replace

import pytest

from flows.clouds.local import Local
from flows.clouds.protocol import Login, Machine, Order, Site
from flows.clouds.ssh_hosts import connect
from flows.errors import InfrastructureError
from flows.remote.entering import entered
from flows.remote.lost import HostLostError
from tests.flows.remote.hosts import make_key

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]
NOW = dt.datetime.now(dt.UTC)


@pytest.fixture
def rented(ssh_host) -> Machine:
    """A machine of a cloud whose host key was made before its first start."""
    return Machine(
        id="i-1",
        driver="aws",
        host_id="aws-box",
        is_local=False,
        address="127.0.0.1",
        price=None,
        campaign="c",
        run="r",
        acquired_at=NOW,
        expires=NOW,
        login=Login(
            user=ssh_host.login().user,
            port=ssh_host.port,
            key=str(ssh_host.user_key),
            host_keys=(ssh_host.host_key,),
        ),
    )


@pytest.fixture
def cloud(tmp_path) -> Local:
    """Any driver but that of hosts over SSH."""
    site = Site(environment={}, state=tmp_path, now=lambda: NOW)
    return Local(site=site, locks=tmp_path)


def test_a_rented_machine_is_waited_for_until_its_ssh_server_is_up(cloud, rented, ssh_host):
    ssh_host.stop()
    later = threading.Timer(0.5, ssh_host.start)
    later.start()

    with entered(cloud, rented) as host:
        later.join()
        assert host.name == "aws-box"


def test_a_rented_machine_behind_a_jump_host_is_waited_for_too(
    cloud, rented, ssh_host, shared_host, tmp_path
):
    words = {
        "HostName": "127.0.0.1",
        "Port": shared_host.port,
        "User": shared_host.login().user,
        "IdentityFile": shared_host.user_key,
        "UserKnownHostsFile": shared_host.known_hosts,
    }
    (tmp_path / ".ssh").mkdir()
    gate = "\n  ".join(f"{name} {value}" for name, value in words.items())
    (tmp_path / ".ssh/config").write_text(
        f"Host 127.0.0.1\n  ProxyJump gate\nHost gate\n  {gate}\n"
    )
    ssh_host.stop()
    said = []

    def tell(why: str) -> None:
        if not said:
            ssh_host.start()
        said.append(why)

    with entered(cloud, rented, environment={"HOME": str(tmp_path)}, tell=tell) as host:
        assert host.login.jump.port == shared_host.port

    assert said == ["aws-box: its SSH server is not up yet"]


def test_a_machine_whose_ssh_server_never_comes_up_is_lost(cloud, rented, ssh_host):
    ssh_host.stop()

    with pytest.raises(HostLostError, match=r"no (SSH )?connection"):
        entered(cloud, rented, boot_s=0.0)


def test_a_rented_machine_with_another_key_is_refused_at_once(cloud, rented, tmp_path):
    login = replace(rented.login, host_keys=(make_key(tmp_path / "other"),))

    with pytest.raises(InfrastructureError, match="expected"):
        entered(cloud, replace(rented, login=login))


def test_a_teams_own_host_is_the_one_that_its_driver_holds(ssh_host, tmp_path):
    driver = connect(
        Site(environment=ssh_host.client(tmp_path), state=tmp_path / "state", now=lambda: NOW)
    )
    order = Order(host="ssh:box", campaign="c", run="r", expires=NOW + dt.timedelta(hours=1))
    machine = driver.acquire(order, lambda event, **facts: None)

    assert entered(driver, machine) is driver.host(machine)

    driver.release(machine, lambda event, **facts: None)
