"""The flows behind the forms do what their verbs do, and end as they end."""

from __future__ import annotations

import pytest

from flows.deployed import compare, reevaluate, signoff
from tests.reports.runs import concluded

WHO = {"by": "Ada", "role": "lead", "statement": "for chat"}


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory):
    return concluded(tmp_path_factory.mktemp("run"), "rehearsal").path


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("RUNOFF_HOME", str(tmp_path / "home"))
    return tmp_path


def test_a_run_that_cannot_be_signed_fails_with_all_reasons(rehearsal, here):
    state = signoff.fn(str(rehearsal), **WHO)

    assert state.type == "FAILED"
    assert state.message.startswith("exit code 7: not signed: ")
    assert "rehearsal" in state.message.lower()
    assert not (rehearsal / "signoff.json").exists()


@pytest.mark.parametrize(
    ("run", "given", "seen"),
    [
        ("nowhere", {}, "nowhere: there is no such directory"),
        (None, {"waive": ["steady"]}, "--waive 'steady': a check or a reason is missing"),
    ],
)
def test_what_is_no_run_or_no_waiver_fails_as_usage(rehearsal, here, run, given, seen):
    state = signoff.fn(run or str(rehearsal), **WHO, **given)

    assert state.type == "FAILED"
    assert state.message.startswith("exit code 2: ")
    assert seen in state.message


def test_a_campaign_that_rents_is_not_begun_by_a_click_without_a_yes(here, monkeypatch):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")  # nothing is started

    state = compare.fn("canonical", include_unknown=True, include_unlikely=True)

    assert state.type == "FAILED"
    assert state.message.startswith("exit code 2: ")
    assert not list(here.glob("runs/*/*"))


@pytest.mark.parametrize("money", [{}, {"budget_usd": 5.0}, {"budget_usd": 5.0, "yes": True}])
def test_that_nobody_gives_out_a_machine_is_told_before_any_word_of_money(
    here, monkeypatch, money
):
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")  # nothing is started

    state = compare.fn("canonical", include_unknown=True, include_unlikely=True, **money)

    assert state.message.startswith("exit code 2: ")
    assert "neither an offer nor a host is named" in state.message
    assert "budget" not in state.message


def test_a_baseline_that_is_not_there_fails_as_usage(here):
    state = reevaluate.fn("local", "20261130T120000Z-00000000", prices_only=True)

    assert state.type == "FAILED"
    assert state.message.startswith("exit code 2: ")
