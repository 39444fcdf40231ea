"""What a candidate needs before its server starts, and what earlier launches leave."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

from catalog.load import load_campaign, load_catalog
from flows.launch_plans import launch_of, request_of
from flows.launching import is_here, prepare, set_aside, start_server

LOCAL = Path(__file__).parents[2] / "catalog" / "campaigns" / "local.yaml"


def requested(**changed):
    campaign = load_campaign(LOCAL)
    candidate = campaign.candidates[0].model_copy(update=changed)
    return request_of(campaign, candidate, load_catalog())


def test_packages_that_are_here_in_their_pinned_release_are_not_installed(tmp_path):
    prepared = prepare(requested(), place=tmp_path, environment=os.environ)

    assert prepared.installed is None
    assert prepared.programs == {"python": sys.executable}
    assert prepared.plan().argv[3:5] == (sys.executable, "xllamacpp_server.py")


def test_another_release_is_not_taken_for_the_pinned_one():
    plan = launch_of(requested())
    other = replace(
        plan,
        needs=tuple(
            replace(need, version="1.0") if need.kind == "wheel" else need
            for need in plan.needs
        ),
    )

    assert is_here(plan)
    assert not is_here(other)


def test_each_launch_has_a_free_port_unless_the_file_states_one(tmp_path):
    one = prepare(requested(), place=tmp_path, environment=os.environ)
    stated = prepare(requested(), place=tmp_path, environment=os.environ, is_port_stated=True)

    assert one.plan().port != 8000
    assert stated.plan().port == 8000


def test_the_port_is_no_part_of_the_launchs_identity(tmp_path):
    prepared = prepare(requested(), place=tmp_path, environment=os.environ)

    assert prepared.plan().fingerprint == prepared.plan().fingerprint


def test_what_earlier_launches_left_is_kept_apart(tmp_path):
    folder = tmp_path / "0"
    assert set_aside(folder) == 0
    for number in (1, 2):
        folder.mkdir(exist_ok=True)
        (folder / "launch.json").write_text(str(number))
        assert set_aside(folder) == number
        assert set_aside(folder) == number

    left = sorted(str(path.relative_to(folder)) for path in folder.rglob("*.json"))
    assert left == ["earlier-1/launch.json", "earlier-2/launch.json"]


def test_a_simulated_engine_starts_from_its_plan(tmp_path):
    engine = requested(
        runtime="rehearsal", checkpoint="hub", settings={"max_sequences": 3}, precision=None
    )
    prepared = prepare(engine, place=tmp_path, environment=os.environ)

    plan, running = start_server(prepared, tmp_path / "launch", environment=os.environ)

    with running:
        assert plan.simulation
        assert running.is_healthy()
