"""What is registered on a Prefect server, as data, and how its runs end."""

from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows import campaign_turn as turns
from flows.campaign_turn import campaign_file, campaign_turn, in_turn
from flows.deployments import (
    Schedule,
    forms,
    of_campaign,
    schedule_of,
    seconds,
)
from flows.errors import ExitCode, UsageError
from flows.final_state import ended, final_state
from flows.store import Store
from flows.unfinished import unfinished
from reports.run import layout
from reports.run.read import file_text
from tests.flows.plans import NOW, campaign_of, plan_of


def test_every_verb_has_a_form_and_only_the_sweep_may_have_a_schedule_of_its_own():
    hourly = Schedule(every_s=3600)

    assert [(each.name, each.schedule) for each in forms(hourly)] == [
        ("compare", None),
        ("reevaluate", None),
        ("signoff", None),
        ("sweep", hourly),
    ]


def test_a_scheduled_campaign_goes_on_with_a_killed_run_and_a_clicked_one_begins_anew():
    stated = {"campaign": "/c.yaml"}
    scheduled = of_campaign("compare", "chat", stated, Schedule(every_s=60))
    clicked = of_campaign("compare", "chat", stated, None)

    assert scheduled.parameters == {"resume": "unfinished", "campaign": "/c.yaml"}
    assert clicked.parameters == stated
    assert (scheduled.name, scheduled.tags) == ("compare-chat", ("campaign:chat",))


def test_what_measures_nothing_resumes_nothing():
    stated = {"campaign": "/c.yaml", "prices_only": True}

    assert of_campaign("reevaluate", "chat", stated, Schedule(every_s=60)).parameters == stated


def test_a_cron_line_has_a_timezone_and_an_interval_has_none():
    assert schedule_of("0 6 * * 1", "Europe/Berlin", None) == Schedule(
        cron="0 6 * * 1", timezone="Europe/Berlin"
    )
    assert schedule_of("0 6 * * 1", None, None) == Schedule(cron="0 6 * * 1")
    assert schedule_of(None, None, "12h") == Schedule(every_s=43_200.0)
    assert schedule_of(None, None, None) is None


@pytest.mark.parametrize(
    ("stated", "seen"),
    [
        (("0 6 * * 1", None, "12h"), "two schedules"),
        (("0 6 * * 1", "Europe/Atlantis", None), "no such timezone"),
        ((None, "Europe/Berlin", None), "no cron line"),
        ((None, None, "soon"), "not a quantity"),
        ((None, None, "12"), "unit"),
        ((None, None, "0.1s"), "too short"),
    ],
)
def test_a_schedule_that_is_none_is_refused(stated, seen):
    with pytest.raises(UsageError, match=seen):
        schedule_of(*stated)


@given(st.integers(min_value=1, max_value=3_650), st.sampled_from("mhd"))
def test_times_are_written_in_minutes_hours_or_days(count, unit):
    assert (
        seconds("--every", f"{count}{unit}") == count * {"m": 60, "h": 3600, "d": 86_400}[unit]
    )


@pytest.mark.parametrize(
    ("code", "type_", "name"),
    [
        (ExitCode.DECIDED, "COMPLETED", "Completed"),
        (ExitCode.BUG, "FAILED", "Failed"),
        (ExitCode.USAGE, "FAILED", "Failed"),
        (ExitCode.NOTHING_SURVIVES, "COMPLETED", "NothingSurvives"),
        (ExitCode.NONE_COMPLIES, "COMPLETED", "NoneComplies"),
        (ExitCode.INCONCLUSIVE, "COMPLETED", "Inconclusive"),
        (ExitCode.REGRESSION, "FAILED", "Failed"),
        (ExitCode.EVIDENCE, "FAILED", "Failed"),
        (ExitCode.INFRASTRUCTURE, "FAILED", "Failed"),
        (ExitCode.BUDGET, "FAILED", "Failed"),
        (ExitCode.STILL_BILLED, "FAILED", "Failed"),
        (ExitCode.INTERRUPTED, "CANCELLED", "Cancelled"),
    ],
)
def test_each_exit_code_has_its_state(code, type_, name):
    state = final_state(code, "why.", ())

    assert (state.type, state.name) == (type_, name)
    assert state.message == f"exit code {int(code)}: why."


def test_a_code_that_is_allowed_completes():
    state = final_state(ExitCode.REGRESSION, "slower.", [6])

    assert (state.type, state.name) == ("COMPLETED", "Completed")


def test_an_error_ends_in_the_state_of_its_code():
    def fails():
        raise UsageError("here", "it is wrong", "Do better")

    def stops():
        raise KeyboardInterrupt

    assert ended(fails).message == "exit code 2: here: it is wrong. Do better"
    assert ended(stops).type == "CANCELLED"


def test_a_bug_is_no_verdict():
    def breaks():
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        ended(breaks)


def test_a_form_takes_a_path_or_a_campaign_that_is_brought_along(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert campaign_file("canonical").name == "canonical.yaml"
    (tmp_path / "canonical").write_text("mine")
    assert campaign_file("canonical").read_text() == "mine"
    assert str(campaign_file("other.yaml")) == "other.yaml"


def begun(root, name="20261130T120000Z-00000000", plan=None):
    store = Store.create(root, "here", name)
    store.write(layout.PLAN, file_text(plan) if plan is not None else "{}")
    return store


def test_a_campaign_is_one_flows_at_a_time(tmp_path):
    (tmp_path / "here").mkdir()

    with campaign_turn(tmp_path, "here") as first, campaign_turn(tmp_path, "here") as second:
        assert (first, second) == (None, "one that is just beginning")
    with campaign_turn(tmp_path, "here") as third:
        assert third is None


def test_a_run_that_was_begun_by_hand_counts_until_it_has_decided(tmp_path):
    with begun(tmp_path) as store:
        with campaign_turn(tmp_path, "here") as other:
            assert other == "run 20261130T120000Z-00000000"
        store.record("concluded", why="all that is there is concluded from")
        store.write(layout.DECISION, "{}")
        with campaign_turn(tmp_path, "here") as other:
            assert other is None  # signed or rendered, not measured
        store.record("resumed", why="half-written: nothing")
        with campaign_turn(tmp_path, "here") as other:
            assert other == "run 20261130T120000Z-00000000"  # gone on with


def test_a_dead_run_keeps_nobody_out(tmp_path):
    begun(tmp_path).close()

    with campaign_turn(tmp_path, "here") as other:
        assert other is None


@pytest.mark.parametrize(("late_s", "is_run"), [(None, True), (600, True), (1200, False)])
def test_a_scheduled_flow_runs_in_time_or_not_at_all(
    late_s, is_run, tmp_path, monkeypatch, small_file
):
    monkeypatch.chdir(tmp_path)
    late = None if late_s is None else dt.timedelta(seconds=late_s)
    monkeypatch.setattr(turns, "late_by", lambda now: late)
    ran = []

    def run(file):
        ran.append(file)
        return ExitCode.DECIDED, "done"

    state = in_turn(str(small_file), run, (), 15.0)

    assert bool(ran) is is_run
    assert state.name == ("Completed" if is_run else "Skipped")
    if not is_run:
        assert state.message.startswith("skipped: it was due 20 min ago")


def test_a_campaign_that_cannot_be_read_fails_as_the_verb_does(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    state = in_turn("nowhere.yaml", lambda file: (ExitCode.DECIDED, "done"), (), 15.0)

    assert state.type == "FAILED"
    assert state.message.startswith("exit code 2: nowhere.yaml")


@pytest.fixture
def small_file(tmp_path):
    return campaign_of(tmp_path)[0]


def test_an_unfinished_run_is_one_of_a_day_that_asks_the_same_and_never_decided(tmp_path):
    plan = plan_of(campaign_of(tmp_path)[0])
    root = tmp_path / "runs"
    wanted = "20261130T120000Z-00000000"
    assert unfinished(root, plan, NOW) is None

    with begun(root, wanted, plan) as store:
        assert unfinished(root, plan, NOW) == wanted
        assert unfinished(root, plan, NOW + dt.timedelta(hours=25)) is None
        other_kind = plan.model_copy(update={"rehearsal": not plan.rehearsal})
        assert unfinished(root, other_kind, NOW) is None
        others = (plan.candidates[0].model_copy(update={"measured": False}),)
        fewer = plan.model_copy(update={"candidates": (*others, *plan.candidates[1:])})
        assert unfinished(root, fewer, NOW) is None
        store.write(layout.DECISION, "{}")
        assert unfinished(root, plan, NOW) is None
