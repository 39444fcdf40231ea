"""A machine is held against its order, its settings are made, and its cells judged."""

from __future__ import annotations

import asyncio
import errno
import io
import json
import os

import pytest
import yaml

from flows import measure, opening, provision, visiting
from flows.compare import surroundings
from flows.errors import InfrastructureError, StillBilled
from flows.hosts.here import LocalHost
from flows.measure import measure_replication
from flows.progress import Progress
from flows.provision import acquire, describe, release
from flows.setting_up import control
from flows.taking_up import Options, taken_up
from flows.underway import utc_now
from flows.whole import is_needed
from reports.run.read import read_run
from reports.telemetry.voids import Judgement
from tests.flows.fake_smi.stand_in import StandIn
from tests.flows.test_visiting import CAMPAIGN

pytestmark = pytest.mark.e2e
REAL = {"runtime": "llama_server", "checkpoint": "dummy", "precision": "gguf_f16"}


@pytest.fixture
def begun(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment = {**os.environ, "RUNOFF_HOME": str(tmp_path), "RUNOFF_LOCKS": str(tmp_path)}

    def begin(**candidate):
        (own,) = CAMPAIGN["candidates"]
        document = {**CAMPAIGN, "candidates": [{**own, **candidate}]}
        file = tmp_path / "steps.yaml"
        file.write_text(yaml.safe_dump(document))
        around = surroundings(environment, Progress(io.StringIO(), utc_now))
        return taken_up(Options(campaign=file), around, lambda _plan: False)

    return begin


def test_a_machine_with_another_device_than_ordered_is_not_measured(
    begun, tmp_path, monkeypatch
):
    StandIn(tmp_path, monkeypatch).is_of("h200-580")
    with begun(**REAL, device="nvidia-l4") as work:
        machine = acquire(work, "local")

        with pytest.raises(InfrastructureError, match="not the machine that was ordered"):
            describe(work, "local", machine)

        told = read_run(work.store.folder.path).hosts[0]
        assert any("(void)" in line for line in told.differences)
        assert told.order["a"]["device"] == "nvidia-l4"
        release(work)


def test_the_settings_of_a_machine_are_made_held_and_put_back(begun, tmp_path, monkeypatch):
    smi = StandIn(tmp_path, monkeypatch).is_of("h100-sxm-535")
    with begun(**REAL) as work:
        describe(work, "local", acquire(work, "local"))
        control(work, "local", {0: 1500})
        held = smi.set_on(0)
        release(work)

        told = json.loads((work.store.folder.path / "hosts/local/control.json").read_text())
        (clock,) = [s for s in told["settings"] if s["name"] == "graphics_clock_mhz"]
        seen = (clock["target"], clock["requested"], clock["restored"])
        assert "1500" in json.dumps(held)
        assert smi.set_on(0) != held
        assert seen == ("GPU 0", "1500", True)


@pytest.mark.parametrize(("voids", "attempts"), [(1, 1), (2, 2), (9, 2)])
def test_a_void_cell_is_measured_again_twice_at_most_and_then_kept(
    begun, monkeypatch, voids, attempts
):
    left = [Judgement(voids=("hardware slowdown",))] * voids
    monkeypatch.setattr(measure, "judged", lambda *_, **__: left.pop() if left else Judgement())
    with begun() as work:
        describe(work, "local", acquire(work, "local"))
        opening.make_ready(work, "a")
        visit = work.plan.order[0]
        serving = visiting.serve(work, visit)
        measure_replication(work, serving, visit, "closed-2", 0)
        visiting.stop(work, serving, visit, None)
        release(work)

        (cell,) = read_run(work.store.folder.path).cells
        assert cell.file.attempts == ("void: hardware slowdown",) * attempts


def test_a_machine_goes_back_though_its_connection_does_not_end_well(begun):
    class Clinging(LocalHost):
        def close(self) -> None:
            raise EOFError("the other end has gone")

    with begun(**REAL) as work:
        acquire(work, "local")
        work.held["local"].host = Clinging()

        with pytest.raises(EOFError):
            release(work)

        assert not work.held
        ledger = read_run(work.store.folder.path).ledger
        assert "released" in [entry["event"] for entry in ledger]


def test_a_machine_on_which_nothing_is_left_to_do_is_not_got_again(begun, monkeypatch):
    with begun() as work:
        assert is_needed(work, "local")
        with monkeypatch.context() as patch:
            patch.setattr(type(work.store), "is_complete", lambda *_: True)
            assert not is_needed(work, "local")
        assert is_needed(work, "local")
        work.give_up("a", "it does not start")
        assert not is_needed(work, "local")


def test_a_machine_goes_back_though_prefect_fails(begun, monkeypatch):
    from flows import campaign

    async def failing(work) -> None:
        acquire(work, "local")
        raise ConnectionError("Prefect's server is gone")

    monkeypatch.setattr(campaign, "_run", failing)
    with begun(**REAL) as work:
        with pytest.raises(ConnectionError):
            campaign.run_campaign(work)

        assert not work.held
        ledger = read_run(work.store.folder.path).ledger
        assert "released" in [entry["event"] for entry in ledger]


def test_money_is_told_before_a_fault_of_prefect(begun, monkeypatch):
    from flows import campaign

    async def failing(work) -> None:
        work.still_billed = StillBilled("AWS", "i-1 may still be billed", "Look")
        raise ConnectionError("Prefect's server is gone")

    monkeypatch.setattr(campaign, "_run", failing)
    with begun(**REAL) as work, pytest.raises(StillBilled, match="i-1"):
        campaign.run_campaign(work)


def test_a_fault_on_one_machine_is_raised_when_the_others_have_wound_down():
    from flows.campaign import _together

    ended = []

    async def faulty() -> None:
        raise ConnectionError("a fault")

    async def slow() -> None:
        await asyncio.sleep(0.05)
        ended.append("slow")

    async def both() -> None:
        await _together([faulty(), slow()])

    with pytest.raises(ConnectionError):
        asyncio.run(both())
    assert ended == ["slow"]


def test_a_machine_goes_back_though_its_settings_cannot_be_put_back(begun, monkeypatch):
    def no_room(_work, _host) -> None:
        raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(provision, "put_back", no_room)
    with begun(**REAL) as work:
        acquire(work, "local")

        with pytest.raises(OSError, match="no space left"):
            release(work)

        assert not work.held
        ledger = read_run(work.store.folder.path).ledger
        assert "released" in [entry["event"] for entry in ledger]
