"""A scheduled sweep removes what nobody needs, and fails where it cannot tell."""

from __future__ import annotations

import json

import pytest

from flows.clouds.protocol import HELD, LEFT_BEHIND
from flows.deployed import sweep
from flows.errors import InfrastructureError, StillBilled
from flows.sweeping import swept
from tests.flows.test_owned_here import NOW, Sky


@pytest.fixture
def sky(monkeypatch) -> Sky:
    sky = Sky()
    monkeypatch.setattr("flows.owned_here.all_clouds", lambda: [sky.cloud()])
    return sky


@pytest.fixture
def sweeps(tmp_path):
    return lambda: swept({"RUNOFF_HOME": str(tmp_path)}, (), lambda: NOW)


def test_what_is_dead_goes_and_what_lives_stays(sky, sweeps, tmp_path):
    sky.put("dead", LEFT_BEHIND)
    sky.put("living", HELD)

    assert sweeps() == ("dead",)

    assert set(sky.there) == {"living"}
    (ledger,) = tmp_path.rglob("machines.jsonl")
    events = [json.loads(line)["event"] for line in ledger.read_text().splitlines()]
    assert events == ["releasing", "released"]


def test_what_would_not_go_fails_the_sweep_and_keeps_no_other(sky, sweeps):
    sky.put("m1", LEFT_BEHIND)
    sky.put("m2", LEFT_BEHIND)
    sky.refuses.add("m1")

    with pytest.raises(StillBilled, match="m1: it would not go"):
        sweeps()

    assert set(sky.there) == {"m1"}


def test_a_cloud_that_cannot_be_asked_fails_the_sweep(sky, sweeps):
    sky.is_dark = True

    with pytest.raises(InfrastructureError, match="one could not be asked"):
        sweeps()


def test_its_flow_ends_as_the_verb_would(sky, monkeypatch, tmp_path):
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path))
    sky.put("dead", LEFT_BEHIND)

    removed = sweep.fn([])
    sky.put("m1", LEFT_BEHIND)
    sky.refuses.add("m1")
    refused = sweep.fn([])

    assert (removed.type, removed.message) == ("COMPLETED", "exit code 0: removed: dead")
    assert refused.type == "FAILED"
    assert refused.message.startswith("exit code 10: sweep: m1: it would not go")
