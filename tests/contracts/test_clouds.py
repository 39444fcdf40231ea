"""What holds for every cloud: machines are told of first, given back, and never lost."""

from __future__ import annotations

import json
from typing import Any

import pytest

from flows.clouds import all_clouds, cloud_of, protocol
from flows.clouds.protocol import machine_from_json
from flows.errors import UsageError

CLOUDS = {cloud.name: cloud for cloud in all_clouds()}


class Ledger(list[tuple[str, dict[str, Any]]]):
    def __call__(self, event: str, **facts: Any) -> None:
        json.dumps(facts, allow_nan=False)
        self.append((event, facts))

    @property
    def events(self) -> list[str]:
        return [event for event, _ in self]


@pytest.fixture(params=CLOUDS)
def cloud(request):
    return CLOUDS[request.param]


@pytest.fixture
def stand(cloud, request):
    return request.getfixturevalue(f"{cloud.name}_stand")


@pytest.fixture
def driver(cloud, stand):
    return cloud.connect(stand.site)


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def test_the_driver_bears_the_name_of_its_module(cloud, driver):
    assert driver.name == cloud.name


def test_the_driver_is_found_by_what_the_campaign_file_says(cloud, stand):
    order = stand.order("a")

    assert cloud_of(order.host, order.offer, "candidate 'x'") == cloud


def test_what_nobody_gives_out_is_refused_by_name():
    with pytest.raises(UsageError, match="no driver gives out host 'nowhere'"):
        cloud_of("nowhere", None, "candidate 'x'")


def test_offers_have_names_and_no_free_price(driver):
    offers = driver.offers()

    assert offers
    assert all(offer.name and offer.title for offer in offers)
    assert all(offer.price is None or offer.price.value > 0 for offer in offers)


class FullDisk(Ledger):
    """A ledger that can no longer be written from one event on."""

    def __init__(self, first: str) -> None:
        super().__init__()
        self.first = first

    def __call__(self, event: str, **facts: Any) -> None:
        if event == self.first:
            raise OSError("the disk is full")
        super().__call__(event, **facts)


@pytest.mark.parametrize("event", [protocol.ACQUIRING, protocol.ACQUIRED])
def test_without_a_ledger_no_machine_is_acquired(driver, stand, event):
    with pytest.raises(OSError, match="the disk is full"):
        driver.acquire(stand.order("a"), FullDisk(event))

    assert driver.list_owned() == ()


@pytest.mark.parametrize("event", [protocol.RELEASING, protocol.RELEASED])
def test_without_a_ledger_a_machine_is_released_all_the_same(driver, stand, ledger, event):
    machine = driver.acquire(stand.order("a"), ledger)

    with pytest.raises(OSError, match="the disk is full"):
        driver.release(machine, FullDisk(event))

    assert driver.list_owned() == ()


def test_an_acquired_machine_is_usable_owned_and_in_the_ledger(driver, stand, ledger):
    order = stand.order("a")

    machine = driver.ready(driver.acquire(order, ledger), ledger)

    assert (machine.driver, machine.host_id) == (driver.name, order.host_id)
    assert (machine.campaign, machine.run, machine.expires) == ("a", order.run, order.expires)
    assert machine.is_local == (machine.address is None)
    assert [owned.machine.id for owned in driver.list_owned()] == [machine.id]
    assert ledger.events == [protocol.ACQUIRING, protocol.ACQUIRED, protocol.READY]
    assert machine_from_json(ledger[-1][1]["machine"]) == machine
    driver.release(machine, ledger)


def test_a_released_machine_is_no_longer_ours_and_released_again_without_harm(
    driver, stand, ledger
):
    machine = driver.acquire(stand.order("a"), ledger)

    driver.release(machine, ledger)
    driver.release(machine, ledger)

    assert driver.list_owned() == ()
    assert ledger.events[2:] == [protocol.RELEASING, protocol.RELEASED] * 2


def test_a_late_second_release_leaves_the_next_machine_alone(driver, stand, ledger):
    first = driver.acquire(stand.order("a"), ledger)
    driver.release(first, ledger)
    second = driver.acquire(stand.order("b"), ledger)

    driver.release(first, ledger)

    assert [owned.machine.id for owned in driver.list_owned()] == [second.id]
    driver.release(second, ledger)


def test_a_machine_read_back_from_the_ledger_can_be_released(cloud, stand, driver, ledger):
    driver.acquire(stand.order("a"), ledger)
    read = machine_from_json(json.loads(json.dumps(ledger[-1][1]["machine"])))

    cloud.connect(stand.site).release(read, ledger)

    assert driver.list_owned() == ()


def test_what_is_owned_can_be_released(driver, stand, ledger):
    driver.acquire(stand.order("a"), ledger)

    for owned in driver.list_owned():
        driver.release(owned.machine, ledger)

    assert driver.list_owned() == ()
