"""Every cloud is asked, each failure is told, and a sweep takes only what nobody needs."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from flows.clouds import Cloud
from flows.clouds.protocol import HELD, LEFT_BEHIND, Machine, Owned, PartlyListedError, Site
from flows.errors import InfrastructureError, StillBilled
from flows.owned import UNCONFIRMED
from flows.owned_here import look, recorder, remove, sweep

NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


def machine(name: str, driver: str = "one", hours: int = 1) -> Machine:
    return Machine(
        id=name,
        driver=driver,
        host_id=name,
        is_local=False,
        address=None,
        price=None,
        campaign="a",
        run="r1",
        acquired_at=NOW,
        expires=NOW + dt.timedelta(hours=hours),
    )


@dataclass
class Sky:
    """A cloud of which everything is known."""

    name: str = "one"
    there: dict[str, Owned] = field(default_factory=dict)
    refuses: set[str] = field(default_factory=set)
    is_dark: bool = False
    is_half_dark: bool = False
    site: Site | None = None

    def put(self, name: str, state: str, hours: int = 1) -> None:
        self.there[name] = Owned(
            machine=machine(name, self.name, hours), state=state, holder="h"
        )

    def connect(self, site: Site) -> Sky:
        self.site = site
        return self

    def list_owned(self) -> tuple[Owned, ...]:
        if self.is_dark:
            raise InfrastructureError(self.name, "no answer", "Wait")
        if self.is_half_dark:
            raise PartlyListedError(self.name, "no answer", "Wait", owned=self.there.values())
        return tuple(self.there.values())

    def release(self, machine: Machine, record) -> None:
        record("releasing", id=machine.id)
        if machine.id in self.refuses:
            raise StillBilled(machine.id, "it would not go", "Look")
        self.there.pop(machine.id, None)
        record("released", id=machine.id)

    def cloud(self, *, is_configured: bool = True) -> Cloud:
        return Cloud(
            self.name, lambda host, offer: False, self.connect, lambda site: is_configured
        )


@pytest.fixture
def site(tmp_path) -> Site:
    return Site(environment={}, state=tmp_path / "state", now=lambda: NOW)


def ledger(folder: Path, *entries: dict) -> Path:
    path = folder / "a" / "r1" / "ledger.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("".join(json.dumps(each) + "\n" for each in entries))
    return folder


def nothing(event: str, **facts) -> None:
    pass


def test_one_cloud_that_is_dark_hides_no_other(site):
    dark, light = Sky("dark", is_dark=True), Sky("light")
    light.put("m1", LEFT_BEHIND)

    found = look(site, (), lambda: [dark.cloud(), light.cloud()])

    assert [each.machine.id for each in found.holdings] == ["m1"]
    assert found.problems == ("dark could not be asked: dark: no answer. Wait",)


def test_what_half_a_cloud_tells_is_shown_beside_what_it_does_not(site):
    sky = Sky(is_half_dark=True)
    sky.put("m1", LEFT_BEHIND)

    found = look(site, (), lambda: [sky.cloud()])

    assert [each.machine.id for each in found.holdings] == ["m1"]
    assert found.problems == ("one could not be asked: one: no answer. Wait",)


def test_a_cloud_that_is_not_configured_is_not_asked(site):
    sky = Sky(is_dark=True)

    assert look(site, (), lambda: [sky.cloud(is_configured=False)]).problems == ()


def test_a_cloud_hears_what_ledgers_know_and_what_a_dark_one_has_is_kept_in_mind(
    site, tmp_path
):
    sky = Sky(is_dark=True)
    store = ledger(tmp_path / "runs", {"event": "acquired", "machine": machine("m1").to_json()})

    found = look(site, (store,), lambda: [sky.cloud()])

    assert [each.id for each in sky.site.known] == ["m1"]
    assert [each.owned.state for each in found.holdings] == [UNCONFIRMED]
    assert found.billed == found.holdings


def test_a_sweep_takes_what_is_dead_or_over_and_nothing_else(site, monkeypatch):
    sky = Sky()
    sky.put("living", HELD, hours=-1)
    sky.put("dead", LEFT_BEHIND)
    sky.put("elsewhere", "held elsewhere")
    sky.put("over", "held elsewhere", hours=-1)
    monkeypatch.setattr("flows.owned_here.all_clouds", lambda: [sky.cloud()])

    done = sweep(site, (), nothing)

    assert {each.machine.id for each in done.removed} == {"dead", "over"}
    assert set(sky.there) == {"living", "elsewhere"}


def test_one_machine_that_will_not_go_keeps_no_other(site):
    sky = Sky(refuses={"m1"})
    for name in ("m1", "m2"):
        sky.put(name, LEFT_BEHIND)
    found = look(site, (), lambda: [sky.cloud()])

    done = remove(found, found.holdings, nothing)

    assert [each.machine.id for each in done.removed] == ["m2"]
    assert [str(error) for error in done.failed] == ["m1: it would not go. Look"]


def test_a_fault_that_nobody_foresaw_keeps_no_other(site):
    class Broken(Sky):
        def release(self, machine: Machine, record) -> None:
            if machine.id == "m1":
                raise KeyError("Reservations")
            super().release(machine, record)

    sky = Broken()
    for name in ("m1", "m2"):
        sky.put(name, LEFT_BEHIND)
    found = look(site, (), lambda: [sky.cloud()])

    done = remove(found, found.holdings, nothing)

    assert [each.machine.id for each in done.removed] == ["m2"]
    assert "m1: it may still be there: KeyError" in str(done.failed[0])


@pytest.mark.parametrize(("minutes", "stays"), [(30, ["m1"]), (-1, [])])
def test_a_sweep_leaves_what_is_kept_for_a_look_its_time(
    site, tmp_path, monkeypatch, minutes, stays
):
    sky = Sky()
    sky.put("m1", LEFT_BEHIND)
    until = (NOW + dt.timedelta(minutes=minutes)).isoformat(timespec="seconds")
    store = ledger(
        tmp_path / "runs",
        {"event": "acquired", "machine": machine("m1").to_json()},
        {"event": "kept", "id": "m1", "until": until},
    )
    monkeypatch.setattr("flows.owned_here.all_clouds", lambda: [sky.cloud()])

    sweep(site, (store,), nothing)

    assert list(sky.there) == stays


def test_what_was_given_back_outside_of_its_run_is_no_longer_known(site, tmp_path):
    sky = Sky(is_dark=True)
    store = ledger(tmp_path / "runs", {"event": "acquired", "machine": machine("m1").to_json()})
    kept, record = recorder(site.state, site.now)
    record("released", id="m1")
    kept.close()

    assert look(site, (store,), lambda: [sky.cloud()]).holdings == ()


def test_runs_that_are_copied_to_a_bucket_are_known_without_being_named(site):
    sky = Sky(is_dark=True)
    ledger(
        site.state / "stores" / "team-runs" / "serving",
        {"event": "acquired", "machine": machine("m1").to_json()},
    )

    (found,) = look(site, (), lambda: [sky.cloud()]).holdings
    assert (found.machine.id, found.owned.state) == ("m1", UNCONFIRMED)
