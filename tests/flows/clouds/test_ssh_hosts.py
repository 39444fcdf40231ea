"""A host over SSH belongs to one campaign at a time, and holds nothing of one that is over."""

from __future__ import annotations

import datetime as dt
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from flows.clouds.protocol import HELD, LEFT_BEHIND, Order, Site
from flows.clouds.ssh_hosts import SshHosts, connect, serves
from flows.errors import InfrastructureError, UsageError
from flows.host_lock import free, take
from flows.launch.processes import process_of
from flows.remote.job import begin
from tests.flows.remote.conftest import make_host, ssh_host, ssh_keys
from tests.flows.remote.hosts import SshHost, end_all_below, until

__all__ = ["make_host", "ssh_host", "ssh_keys"]
pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("ssh")]
NOW = dt.datetime.now(dt.UTC)
ORDER = Order(host="ssh:box", campaign="a", run="r1", expires=NOW + dt.timedelta(hours=1))


def unrecorded(event: str, **facts: Any) -> None:
    """A ledger for tests that look at the host alone."""


@pytest.fixture(scope="module")
def shared_host(tmp_path_factory: pytest.TempPathFactory, ssh_keys: Path) -> Iterator[SshHost]:
    """One host for the tests that leave its sshd and its files of keys as they are."""
    host = SshHost(tmp_path_factory.mktemp("held") / "host", ssh_keys)
    host.start()
    yield host
    host.stop()
    end_all_below(host.folder)


@pytest.fixture
def driver(shared_host: SshHost, tmp_path: Path) -> Iterator[SshHosts]:
    driver = driver_of(shared_host, tmp_path)
    yield driver
    for owned in connect(driver.site).list_owned():
        driver.release(owned.machine, unrecorded)


def driver_of(host: SshHost, home: Path) -> SshHosts:
    return connect(Site(environment=host.client(home), state=home / "state", now=lambda: NOW))


@pytest.fixture
def locks(shared_host: SshHost) -> Path:
    return shared_host.folder / "locks"


@pytest.mark.parametrize(
    ("host", "is_ours"),
    [("ssh:box", True), ("ssh:me@box:22", True), ("local", False), (None, False)],
)
def test_hosts_are_meant_by_their_prefix(host, is_ours):
    assert serves(host, None) is is_ours


def test_aliases_of_the_configuration_are_what_there_is(driver):
    assert [offer.name for offer in driver.offers()] == ["ssh:box"]


def test_a_second_campaign_is_refused_with_who_holds_the_host(driver):
    machine = driver.acquire(ORDER, unrecorded)

    with pytest.raises(InfrastructureError, match=r"host 'box': it is held by campaign 'a'"):
        driver.acquire(replace(ORDER, campaign="b"), unrecorded)

    driver.release(machine, unrecorded)
    driver.release(driver.acquire(replace(ORDER, campaign="b"), unrecorded), unrecorded)


def test_a_campaign_on_the_host_itself_shuts_us_out_and_we_shut_it_out(driver, locks):
    holder, _ = take(locks, "local", campaign="theirs", run="r", now=NOW, expires=ORDER.expires)
    with pytest.raises(InfrastructureError, match="held by campaign 'theirs'"):
        driver.acquire(ORDER, unrecorded)
    free(locks, "local", holder.token)

    machine = driver.acquire(ORDER, unrecorded)
    with pytest.raises(InfrastructureError, match="held by campaign 'a'"):
        take(locks, "local", campaign="theirs", run="r", now=NOW, expires=ORDER.expires)
    driver.release(machine, unrecorded)


def test_release_ends_what_the_campaign_has_left_running(driver):
    machine = driver.acquire(ORDER, unrecorded)
    job = begin(driver.host(machine), "server-left", ["/bin/sh", "-c", "exec sleep 600"])

    driver.release(machine, unrecorded)

    assert process_of(job.seen["pid"]) is None


def test_what_a_dead_campaign_has_left_is_ended_by_the_next_one(driver, shared_host):
    first = driver.acquire(ORDER, unrecorded)
    host = driver.host(first)
    (shared_host.root / "launches" / "left").mkdir(parents=True)
    job = begin(host, "server-left", ["/bin/sh", "-c", "exec sleep 600"])
    hold = host.ask("state", folder=f"{host.equipped.root}/jobs/{first.id.partition('#')[2]}")
    os.kill(hold["pid"], signal.SIGKILL)
    until(lambda: [owned.state for owned in driver.list_owned()] == ["left behind"])

    second = driver.acquire(replace(ORDER, campaign="b"), unrecorded)

    assert "campaign 'a'" in second.noted["took_over"]
    assert second.noted["ended"] == "server-left"
    assert second.noted["swept"] == "left"
    assert list((shared_host.root / "launches").iterdir()) == []
    assert {path.name[:5] for path in (shared_host.root / "jobs").iterdir()} == {"hold-"}
    assert process_of(job.seen["pid"]) is None
    driver.release(first, unrecorded)
    assert [owned.machine.id for owned in driver.list_owned()] == [second.id]
    driver.release(second, unrecorded)
    assert driver.list_owned() == ()


def test_a_hold_ends_by_itself_when_the_campaigns_time_is_over(driver, locks):
    soon = replace(ORDER, expires=NOW + dt.timedelta(seconds=1))

    driver.acquire(soon, unrecorded)

    until(lambda: driver.list_owned() == ())
    holder, _ = take(locks, "local", campaign="b", run="r", now=NOW, expires=ORDER.expires)
    free(locks, "local", holder.token)


def test_a_host_that_cannot_be_reached_is_owned_until_it_answers(driver, shared_host):
    machine = driver.acquire(ORDER, unrecorded)
    driver.host(machine).close()
    shared_host.stop()
    again = connect(driver.site)

    [owned] = again.list_owned()
    with pytest.raises(InfrastructureError, match="no connection"):
        again.release(machine, unrecorded)

    assert owned.seen.startswith("no connection to 127.0.0.1")
    shared_host.start()
    again.release(machine, unrecorded)
    assert again.list_owned() == ()


def test_a_host_that_is_gone_for_good_is_owned_until_its_time_is_over(ssh_host, tmp_path):
    driver = driver_of(ssh_host, tmp_path)
    machine = driver.acquire(ORDER, unrecorded)
    driver.host(machine).close()
    ssh_host.stop()
    later = replace(driver.site, now=lambda: ORDER.expires + dt.timedelta(seconds=1))

    assert len(connect(driver.site).list_owned()) == 1
    assert connect(later).list_owned() == ()


@pytest.fixture
def killed(driver: SshHosts, tmp_path: Path) -> None:
    """A campaign of this machine that was killed while it held the host."""
    code = (
        "import datetime as dt, os, pathlib, sys\n"
        "from flows.clouds.protocol import Order, Site\n"
        "from flows.clouds.ssh_hosts import connect\n"
        "now = dt.datetime.now(dt.UTC)\n"
        "site = Site(environment={'HOME': sys.argv[1]}, now=lambda: now,\n"
        "            state=pathlib.Path(sys.argv[1], 'state'))\n"
        "order = Order(host='ssh:box', campaign='a', run='dead',\n"
        "              expires=now + dt.timedelta(hours=1))\n"
        "connect(site).acquire(order, lambda event, **facts: None)\n"
        "os.kill(os.getpid(), 9)\n"
    )
    subprocess.run([sys.executable, "-P", "-c", code, tmp_path], check=False)


def test_a_hold_whose_campaign_was_killed_is_left_behind_and_can_be_released(driver, killed):
    [owned] = driver.list_owned()

    assert (owned.state, owned.seen) == (LEFT_BEHIND, "held")
    driver.release(owned.machine, unrecorded)
    assert driver.list_owned() == ()


def test_a_killed_campaign_can_be_resumed_at_once(driver, killed):
    machine = driver.acquire(ORDER, unrecorded)

    assert machine.noted["released"] == "dead"
    assert [owned.machine.id for owned in driver.list_owned()] == [machine.id]
    driver.release(machine, unrecorded)


def test_a_machine_of_ours_is_held_and_costs_nothing(driver):
    machine = driver.acquire(ORDER, unrecorded)

    [owned] = driver.list_owned()

    driver.release(machine, unrecorded)
    assert (owned.state, owned.is_billed) == (HELD, False)


def test_an_unknown_key_is_refused_before_anything_is_done(ssh_host, tmp_path):
    driver = driver_of(ssh_host, tmp_path)
    ssh_host.known_hosts.write_text("")

    with pytest.raises(InfrastructureError, match="has none for"):
        driver.acquire(ORDER, unrecorded)

    assert driver.list_owned() == ()
    assert not ssh_host.root.exists()


def test_what_is_no_host_is_refused(driver):
    with pytest.raises(UsageError, match="it is no host"):
        driver.acquire(replace(ORDER, host="ssh:"), unrecorded)
