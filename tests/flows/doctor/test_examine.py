from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.load import load_campaign, load_catalog
from flows.doctor.examine import Examination, checked, examined
from flows.doctor.reading import Reading
from flows.doctor.tools import Engine, Tools
from flows.foreign_load import HostLoad, Stranger
from flows.host_lock import Holder

ROOT = Path(__file__).parents[3]
CAMPAIGNS = ROOT / "catalog" / "campaigns"
NOON = dt.datetime(2026, 8, 25, 12, 0, tzinfo=dt.UTC)
ENGINES = (
    Engine(runtime="own", programs=("own-server",), packages=("own",)),
    Engine(runtime="image", programs=(), packages=()),
)
QUIET = HostLoad(
    seconds=1.0,
    samples=1,
    cpus=4,
    ours_cores=0.0,
    strangers_cores=0.02,
    hidden_cores=0.0,
    kernel_cores=0.0,
    foreign_share=0.005,
    peak_foreign_share=0.005,
    steal_share=0.0,
    peak_steal_share=0.0,
    major_faults=0,
    swapped_in_bytes=0,
    load_1min=0.1,
    strangers=(),
)
BUSY = replace(QUIET, strangers_cores=2.0, strangers=(Stranger(pid=7, name="make", cores=2.0),))


@pytest.fixture
def tools() -> Tools:
    return Tools(
        package=lambda name: "1.2", prefect=lambda: ("3.9.1", ""), has_stamps=lambda: True
    )


@pytest.fixture
def quiet_world(world):
    """The quiet machine, with facts that do not depend on where the test runs."""
    system = world.system
    return replace(
        world,
        system=replace(
            system,
            cpu=replace(system.cpu, governors=("performance",)),
            limits=replace(system.limits, cgroup_cpus=None),
            platform=replace(system.platform, clock_source="tsc"),
        ),
    )


def seen(probes, tools, load=QUIET) -> Examination:
    return examined(probes, tools, ENGINES, load, Path("runs"))


def about(found: Examination, topic: str) -> Reading:
    (reading,) = [each for each in found.readings if each.topic == topic]
    return reading


def test_a_machine_with_nothing_amiss_is_ready_and_has_no_doubt(quiet_world, tools):
    found = seen(quiet_world, tools)

    assert found.is_ready
    assert [each for each in found.readings if each.state in ("warns", "blocks")] == []
    json.dumps(found.to_json(), allow_nan=False)


def test_every_doubt_and_obstacle_says_what_to_do(quiet_world, tools):
    broken = replace(
        quiet_world,
        program=lambda name: None,
        exists=lambda path: False,
        has_module=lambda name: False,
        room=lambda folder: 10,
        unwritable=lambda folder: "Read-only file system",
        taken=lambda host, port: ("port 8000 is taken already", "Stop it"),
    )
    none = Tools(
        package=lambda name: None,
        prefect=lambda: (None, "ModuleNotFoundError: no prefect"),
        has_stamps=lambda: False,
    )
    found = seen(broken, none, BUSY)

    assert not found.is_ready
    assert [
        e.topic for e in found.readings if e.state in ("warns", "blocks") and not e.do
    ] == []
    assert {each.topic for each in found.readings if each.state == "blocks"} >= {
        "system",
        "prefect",
        "disk runs",
    }


@pytest.mark.parametrize(
    ("topic", "change", "state"),
    [
        ("kernel stamps", {"has_stamps": lambda: False}, "warns"),
        ("prefect", {"prefect": lambda: (None, "ModuleNotFoundError")}, "blocks"),
        ("engine own", {"package": lambda name: None}, "ok"),
    ],
)
def test_tools_that_are_missing_are_told(quiet_world, tools, topic, change, state):
    assert about(seen(quiet_world, replace(tools, **change)), topic).state == state


def test_an_engine_is_found_as_a_program_or_a_package_or_comes_as_an_image(quiet_world, tools):
    found = seen(quiet_world, tools)

    assert about(found, "engine own").seen == "/usr/bin/own-server, own 1.2"
    assert about(found, "engine image").seen == "comes as an image"


@pytest.mark.parametrize(
    ("change", "topic", "state"),
    [
        ({"clock_source": "hpet"}, "clock source", "warns"),
        ({"clock_source": None}, "clock source", "none"),
    ],
)
def test_a_clock_that_is_slow_to_read_is_a_doubt(quiet_world, tools, change, topic, state):
    told = replace(quiet_world.system.platform, **change)
    world = replace(quiet_world, system=replace(quiet_world.system, platform=told))

    assert about(seen(world, tools), topic).state == state


@pytest.mark.parametrize(("most", "state"), [(100, "blocks"), (1024, "warns"), (65536, "ok")])
def test_the_file_limit_is_judged(quiet_world, tools, most, state):
    limits = replace(quiet_world.system.limits, open_files_most=most)
    world = replace(quiet_world, system=replace(quiet_world.system, limits=limits))

    assert about(seen(world, tools), "file limit").state == state


@pytest.mark.parametrize(
    ("change", "state"),
    [
        ({"governors": ("powersave",)}, "warns"),
        ({"governors": (), "turbo": None, "smt": False}, "none"),  # threads are no clocks
    ],
)
def test_clock_control_is_judged_where_it_can_be_read(quiet_world, tools, change, state):
    cpu = replace(quiet_world.system.cpu, **change)
    world = replace(quiet_world, system=replace(quiet_world.system, cpu=cpu))

    assert about(seen(world, tools), "clock control").state == state


@pytest.mark.parametrize(
    ("smt", "said"), [(True, "two threads a core"), (False, "one thread a core")]
)
def test_threads_a_core_are_told_of_the_processors(quiet_world, tools, smt, said):
    cpu = replace(quiet_world.system.cpu, smt=smt)
    world = replace(quiet_world, system=replace(quiet_world.system, cpu=cpu))

    assert said in about(seen(world, tools), "processors").seen


def test_one_cpu_or_a_quota_of_them_is_a_doubt(quiet_world, tools):
    system = quiet_world.system
    one = replace(system, cpu=replace(system.cpu, allowed=(0,)))
    quota = replace(system, limits=replace(system.limits, cgroup_cpus=1.5))

    for changed in (one, quota):
        found = seen(replace(quiet_world, system=changed), tools)
        assert about(found, "processors").state == "warns"


def test_a_busy_machine_is_named_and_does_not_block_a_look(quiet_world, tools):
    reading = about(seen(quiet_world, tools, BUSY), "foreign load")

    assert reading.state == "warns"
    assert "make (pid 7) 2.00" in reading.seen
    assert "compare refuses a busy machine, unless its campaign is exploratory" in reading.do


def test_credentials_are_told_of_and_never_shown(quiet_world, tools):
    environment = {"HF_TOKEN": "hf_planted_secret", "AWS_ACCESS_KEY_ID": "AKIAPLANTED"}

    found = seen(replace(quiet_world, environment=environment), tools)

    assert about(found, "token of the model hub").seen == "HF_TOKEN set"
    assert about(found, "AWS credentials").seen == "AWS_ACCESS_KEY_ID set"
    assert "planted" not in json.dumps(found.to_json()).lower()


def test_a_file_with_credentials_counts_and_a_missing_one_is_no_fault(quiet_world, tools):
    named = replace(quiet_world, environment={"AWS_SHARED_CREDENTIALS_FILE": "/c"})
    without = replace(quiet_world, exists=lambda path: path == "/proc/net/tcp")

    assert about(seen(named, tools), "AWS credentials").seen == "/c is there"
    assert about(seen(without, tools), "AWS credentials").state == "none"


def test_a_machine_that_is_held_says_by_whom(quiet_world, tools):
    holder = Holder(
        token="t",
        host="local",
        pid=4_000_000,
        started_ticks=1,
        user="eve",
        campaign="theirs",
        run="r",
        since=NOON,
        expires=NOON,
    )
    reading = about(seen(replace(quiet_world, holder=lambda: holder), tools), "host lock")

    assert reading.state == "warns"
    assert "campaign 'theirs' of eve" in reading.seen


def test_the_loopback_guard_is_told(quiet_world, tools):
    guarded = replace(quiet_world, environment={"RUNOFF_LOOPBACK_ONLY": "1"})

    assert about(seen(guarded, tools), "loopback guard").state == "warns"


def test_a_campaign_is_checked_for_the_candidates_that_the_paper_lets_through(quiet_world):
    found = checked(
        load_campaign(CAMPAIGNS / "canonical.yaml"),
        load_catalog(),
        (),
        quiet_world,
        today=NOON.date(),
        store=Path("runs"),
    )

    assert found.measured == ("B", "C")
    assert found.skipped["A"].startswith("rejected on paper")
    assert "candidate 'A'" not in str(found.findings)
    assert any(each.where.startswith("candidate 'B', checkpoint") for each in found.findings)


def test_an_obstacle_of_the_campaign_alone_makes_the_whole_not_ready(quiet_world, tools):
    found = checked(
        load_campaign(CAMPAIGNS / "canonical.yaml"),
        load_catalog(),
        (),
        quiet_world,
        today=NOON.date(),
        store=Path("runs"),
    )
    whole = replace(seen(quiet_world, tools), checked=found)

    assert not whole.is_ready
    written = json.loads(json.dumps(whole.to_json(), allow_nan=False))
    assert written["ready"] is False
    assert written["campaign"]["measured"] == ["B", "C"]


def test_a_campaign_of_which_nobody_would_be_measured_is_stopped(quiet_world):
    campaign = load_campaign(CAMPAIGNS / "canonical.yaml")
    rejected = campaign.model_copy(update={"candidates": campaign.candidates[:1]})

    found = checked(
        rejected, load_catalog(), (), quiet_world, today=NOON.date(), store=Path("runs")
    )

    assert found.measured == ()
    assert [each.seen for each in found.findings] == ["no candidate would be measured"]
