"""Forms and schedules on a real Prefect server: SQLite on one day, PostgreSQL on the next."""

from __future__ import annotations

import json

import pytest

from reports.run.ledger_file import read_ledger
from tests.conftest import refuse_or_skip
from tests.e2e.schedule.conftest import of_home

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("schedule")]


def properties(deployment):
    return deployment["parameter_openapi_schema"]["properties"]


def test_each_verb_has_a_form_with_types_and_texts(first):
    compare, signoff = properties(first.forms["compare"]), first.forms["signoff"]

    assert compare["rehearse"]["type"] == "boolean"
    assert compare["budget_usd"]["anyOf"][0]["type"] == "number"
    assert compare["only"] == {
        "default": [],
        "description": "Measure these candidates alone.",
        "items": {"type": "string"},
        "position": 5,
        "title": "only",
        "type": "array",
    }
    assert signoff["parameter_openapi_schema"]["required"] == ["run", "by", "role", "statement"]
    assert properties(first.forms["reevaluate"])["versions"]["enum"] == [
        "latest-known",
        "pinned",
    ]
    for form in first.forms.values():
        assert all(each["description"] for each in properties(form).values())


def test_a_form_offers_the_campaigns_that_are_known_and_takes_no_other(first):
    assert {"canonical", "local"} <= set(properties(first.forms["compare"])["campaign"]["enum"])
    assert first.refused == {"refused": 409}


def test_a_second_up_in_the_same_home_says_that_one_runs(first):
    code, _, said = first.second_up

    assert code == 2
    assert "one runs already in this home (pid " in said
    assert "http://127.0.0.1:" in said


def test_deploy_finds_the_server_of_up_and_names_what_it_registered(first):
    code, out, _ = first.deployed

    assert code == 0
    assert out.split() == [
        *("runoff-compare/compare", "runoff-reevaluate/reevaluate"),
        *("runoff-signoff/signoff", "runoff-sweep/sweep", "runoff-compare/compare-small"),
    ]


def test_the_sweep_keeps_its_schedule_when_a_campaign_is_deployed(first):
    (schedule,) = first.sweep["schedules"]

    assert schedule["schedule"]["interval"] == 3600
    assert schedule["active"]


def test_up_that_is_started_again_keeps_what_was_deployed(second):
    before, after = second.kept

    assert before["parameters"]["rehearse"]
    assert after["parameters"] == before["parameters"]
    assert [each["schedule"] for each in after["schedules"]] == [
        each["schedule"] for each in before["schedules"]
    ]
    assert len(after["schedules"]) == 1


def test_a_schedule_fires_and_its_run_appears(first):
    assert first.begun["auto_scheduled"]
    assert first.begun["name"] == "compare small"
    assert "campaign:small" in first.begun["tags"]


def test_a_run_that_overlaps_is_skipped_and_says_so(first):
    assert first.skipped["state_type"] == "CANCELLED"
    assert first.skipped["state_name"] == "Skipped"
    assert first.skipped["state"]["message"].startswith(
        "skipped: campaign 'small' is under way ("
    )


def test_a_run_that_was_missed_is_skipped_and_says_so(first):
    assert first.tardy["state_type"] == "CANCELLED"
    assert first.tardy["state"]["message"].startswith("skipped: it was due ")


def test_a_worker_that_dies_is_told_and_ends_everything(first):
    code, said = first.ended

    assert code == 8
    assert "Prefect's worker: it ended by itself with code -9" in said
    assert "worker.log" in said
    assert first.left == {}


def test_a_killed_run_is_gone_on_with_by_the_next_one_of_the_schedule(first, second):
    killed, _, _ = first.measured[-1]

    assert killed in second.recovered["state"]["message"]
    assert second.measured[: len(first.measured)] == first.measured
    assert sorted(second.measured) == [
        (killed, name, launch) for name in ("a", "b") for launch in (0, 1)
    ]


def test_a_final_state_carries_exit_code_and_sentence(second):
    message = second.recovered["state"]["message"]

    assert message.startswith(("exit code 0: ", "exit code 5: ", "exit code 7: "))
    assert message.endswith("/report.html")


def test_that_server_stood_on_postgresql(second, postgresql):
    if postgresql is None:
        refuse_or_skip("no PostgreSQL: install Debian's package postgresql")

    assert second.recovered["state_type"] == "COMPLETED"


def test_the_form_is_seen_in_the_ui(second):
    for label in ("campaign", "rehearse", "Against simulated engines; costs nothing."):
        assert label in second.form["text"]
    assert second.complaints == []


def test_prefect_yaml_registers_the_same_forms_from_a_checkout(first, second):
    assert second.from_checkout.returncode == 0, second.from_checkout.stderr
    for name, made in second.checked_out.items():
        given, form = properties(made), properties(first.forms[name])
        form.get("campaign", {}).pop("enum", None)

        assert given == form
        assert made["entrypoint"] == first.forms[name]["entrypoint"]
        assert made["description"] == first.forms[name]["description"]


def test_up_ends_on_a_signal_with_all_that_it_started(second, place):
    code, said = second.ended

    assert code == 0
    assert "Traceback" not in said
    assert of_home(place.home) == {}


def test_a_run_under_way_winds_down_before_up_ends(second, place):
    _, said = second.ended
    last = place.runs("small")[-1]
    events = [entry["event"] for entry in read_ledger(last / "ledger.jsonl")]

    assert "runs wind down" in said
    assert events.index("interrupted") < events.index("concluded")
    assert json.loads((last / "decision.json").read_text())["stamp"] == "REHEARSAL"
    assert (last / "report.html").exists()
