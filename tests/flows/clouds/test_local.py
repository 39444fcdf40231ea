from __future__ import annotations

import datetime as dt
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from catalog.quantity import Basis, Quantity
from flows.clouds import local
from flows.clouds.protocol import Order, Site, machine_from_json
from flows.errors import InfrastructureError

ROOT = Path(__file__).parents[3]
NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


@pytest.fixture
def driver(tmp_path):
    return local.connect(
        Site(environment={"RUNOFF_LOCKS": str(tmp_path)}, state=tmp_path, now=lambda: NOW)
    )


def order(campaign: str = "a", price: Quantity | None = None) -> Order:
    return Order(
        host="local",
        campaign=campaign,
        run="r1",
        expires=NOW + dt.timedelta(hours=1),
        price=price,
    )


def silent(event: str, **facts: object) -> None:
    pass


def test_this_machine_has_no_price_but_the_one_that_is_stated(driver):
    stated = Quantity(
        value=0.1, unit="USD/h", basis=Basis.ASSUMPTION, source="campaign file", date=NOW.date()
    )

    for price in (None, stated):
        machine = driver.acquire(order(price=price), silent)
        assert machine.price == price
        assert machine_from_json(json.loads(json.dumps(machine.to_json()))) == machine
        driver.release(machine, silent)


def test_a_busy_machine_is_refused_and_the_ledger_says_so(driver):
    events = []
    machine = driver.acquire(order(), silent)

    with pytest.raises(InfrastructureError, match="held by campaign 'a'"):
        driver.acquire(order("b"), lambda event, **facts: events.append((event, facts)))

    assert [event for event, _ in events] == ["acquiring", "not-acquired"]
    assert "held by campaign 'a'" in events[1][1]["seen"]
    driver.release(machine, silent)


ACQUIRES = """
import datetime as dt, sys, os, signal
from pathlib import Path
from flows.clouds import local
from flows.clouds.protocol import Order, Site
now = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)
site = Site(environment={"RUNOFF_LOCKS": sys.argv[1]}, state=Path(sys.argv[1]), now=lambda: now)
local.connect(site).acquire(
    Order(host="local", campaign="lost", run="r9", expires=now), lambda event, **facts: None
)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.e2e
def test_a_machine_that_a_killed_campaign_left_behind_is_listed_and_can_be_released(
    driver, tmp_path
):
    done = subprocess.run(
        [sys.executable, "-c", ACQUIRES, str(tmp_path)], cwd=ROOT, check=False
    )

    assert done.returncode == -signal.SIGKILL
    (owned,) = driver.list_owned()
    assert (owned.state, owned.machine.campaign, owned.machine.run) == (
        "left behind",
        "lost",
        "r9",
    )
    driver.release(owned.machine, silent)
    assert driver.list_owned() == ()


@pytest.mark.e2e
def test_what_a_killed_campaign_left_is_told_to_the_next(driver, tmp_path):
    subprocess.run([sys.executable, "-c", ACQUIRES, str(tmp_path)], cwd=ROOT, check=False)

    machine = driver.acquire(order(), silent)

    assert machine.noted["took_over"].startswith("campaign 'lost'")
    driver.release(machine, silent)


@pytest.mark.parametrize(
    ("host", "offer", "number", "host_id"),
    [
        ("local", None, 1, "local"),
        (None, "aws/p4de.24xlarge", 1, "aws-p4de.24xlarge"),
        ("gpu box/../7", None, 2, "gpu-box-..-7-2"),
        ("..", None, 1, "host"),
    ],
)
def test_a_host_has_one_name_that_a_file_can_bear(host, offer, number, host_id):
    stated = Order(host=host, offer=offer, number=number, campaign="a", run="r", expires=NOW)

    assert stated.host_id == host_id
