"""Threats are written by rule: each is there when its fact is, and not when it is not."""

from __future__ import annotations

import pytest

from reports.run.checks_file import Check, Checks
from reports.run.plan_file import LoadPoint
from reports.threats import threats
from tests.reports.small import PLAN, SUMMARY, small_report


def with_candidate(**changes):
    """The small report with fields of B changed."""
    a, b = PLAN.candidates
    return small_report(
        plan=PLAN.model_copy(update={"candidates": (a, b.model_copy(update=changes))})
    )


def with_plan(**changes):
    """The small report with fields of its plan changed."""
    return small_report(plan=PLAN.model_copy(update=changes))


def foreign_load(verdict):
    """The small report with a check of who else used B's machine."""
    check = Check(
        id="foreign-load",
        requirement="The machine does nothing else",
        observed="others used 72.2% of 2 CPUs",
        needed="at most 2%",
        verdict=verdict,
        candidate="B",
        load_point="c4",
    )
    return small_report(checks=Checks(checks=(check,)))


OPEN = LoadPoint(name="poisson-8", process="poisson", rate_per_s=8)
WORDS = (
    ("A rehearsal", with_plan(rehearsal=True)),
    ("Exploratory", with_plan(exploratory=True)),
    ("Imported", small_report(summary=SUMMARY.model_copy(update={"imported": True}))),
    (
        "ended early: budget",
        small_report(summary=SUMMARY.model_copy(update={"interrupted": "budget"})),
    ),
    ("made-up weights", with_candidate(is_dummy=True)),
    ("B speculates", with_candidate(is_speculative=True)),
    ("B is an endpoint", with_candidate(grade="uncontrolled")),
    ("another precision", with_candidate(parity="needs quality proof")),
    (
        "share a prefix: without",
        with_plan(contract=PLAN.contract.model_copy(update={"cached_prefix_tokens": 256})),
    ),
    ("B at c4 had not server and machine to itself: others used 72.2%", foreign_load("fail")),
    ("B: clocks cannot be locked.", with_candidate(threats=("clocks cannot be locked",))),
)


@pytest.mark.parametrize(("words", "report"), WORDS, ids=[words for words, _ in WORDS])
def test_a_threat_is_told_when_its_fact_is_there_and_only_then(words, report) -> None:
    assert any(words in line for line in threats(report))
    assert not any(words in line for line in threats(small_report()))


def test_a_machine_that_was_ours_is_no_threat() -> None:
    assert not any("to itself" in line for line in threats(foreign_load("pass")))


def test_closed_loop_load_alone_is_a_threat_and_goes_with_a_rate() -> None:
    matrix = PLAN.matrix.model_copy(update={"load_points": (*PLAN.matrix.load_points, OPEN)})

    assert any("All load was closed-loop" in line for line in threats(small_report()))
    assert not any("All load" in line for line in threats(with_plan(matrix=matrix)))


def test_a_threat_is_told_once_however_many_launches_state_it(report_of_kind) -> None:
    found = threats(report_of_kind("hostile"))

    assert len(found) == len(set(found))
