"""The end of a campaign says why it ended so, and how to go on."""

from __future__ import annotations

import io

import pytest

from flows.compare import Outcome
from flows.compare_view import show_outcome
from flows.errors import ExitCode
from flows.void_words import why_void
from reports.conclude import conclude
from reports.render import render_run
from reports.run import layout
from reports.run.checks_file import Checks
from tests.reports.run.builder import CLOSED, NOW, POISSON, QUICK, C, Made, build_run

LATE = {"loop_lag_ms_p99": 40.0, "cpu_share": 0.99, "plan_ran_out": False}
SHARD = {"client": LATE, "complete": True, "warmup_converged": None, "connections": {}}


@pytest.fixture(scope="module")
def void(tmp_path_factory):
    """A concluded run whose only candidate was measured by a client that was too slow."""
    made = [Made(name="B", client={"shards": [SHARD]})]
    folder = build_run(tmp_path_factory.mktemp("void"), made, replications=2, **QUICK)
    return folder, conclude(folder, now=NOW)


@pytest.fixture(scope="module")
def closed_alone(tmp_path_factory):
    """A concluded run without open loads."""
    options = {**QUICK, "points": (CLOSED[4],)}
    folder = build_run(tmp_path_factory.mktemp("closed"), [C], **options)
    return folder, conclude(folder, now=NOW)


def shown(run, code, why=None):
    folder, found = run
    stream = io.StringIO()
    outcome = Outcome(
        folder=folder.path,
        decision=found.decision,
        summary=found.summary,
        checks=found.checks,
        exit_code=code,
        why=why,
    )
    show_outcome(outcome, stream)
    return stream.getvalue()


def test_void_evidence_is_told_by_check_with_what_to_do(void):
    assert void[1].decision.exit_code == ExitCode.EVIDENCE

    said = shown(void, ExitCode.EVIDENCE)

    assert "Exit code 7: evidence check failed" in said
    assert "check client-health/B/" in said
    assert said.count("\n  check ") <= 3
    assert "Do: give the load CPUs of its own" in said
    assert "measure anew: the same command without --resume" in said


def test_a_rehearsal_is_not_told_to_change_what_a_simulated_engine_has_not(tmp_path):
    made = [Made(name="B", client={"shards": [SHARD]})]
    folder = build_run(tmp_path, made, replications=2, rehearsal=True, **QUICK)
    found = conclude(folder, now=NOW)

    (do,) = [line for line in why_void(found.decision, found.checks) if line.startswith("Do: ")]

    assert "settings.cpus" not in do
    assert "more CPUs" in do


@pytest.fixture(scope="module")
def half_void(tmp_path_factory):
    """A rendered run in which the client was too slow for B alone, and no cell is long."""
    made = [Made(name="B", client={"shards": [SHARD]}), C]
    few = {"replications": 2, "requests": 50, "duration_s": 20.0}
    points = (CLOSED[4], POISSON)
    folder = build_run(tmp_path_factory.mktemp("half"), made, points=points, **few)
    found = conclude(folder, now=NOW)
    render_run(folder, now=NOW)
    return folder, found


def test_of_all_that_a_cell_warns_of_only_what_voids_it_is_its_reason(half_void):
    folder, found = half_void
    b = found.decision.of("B")

    assert "too few requests" in found.summary.candidate("B").cell(b.decision_point).problems
    assert b.why == "the load client was too slow (loop lag, client CPU)"
    assert (
        "client-bound (loop lag; client CPU)" in folder.file(layout.REPORT_MARKDOWN).read_text()
    )


def test_a_candidate_whose_rates_are_void_has_no_max_rate_and_the_reason_is_told(half_void):
    folder, _ = half_void
    why = "1 rate measured, void: the load client was too slow"

    said = shown(half_void, ExitCode.DECIDED)

    assert f"\nB has no max rate: {why}\n" in said
    assert f"– ({why})" in folder.file(layout.REPORT_MARKDOWN).read_text()


def test_without_open_loads_no_reason_for_a_missing_rate_is_told(closed_alone):
    assert "has no max rate" not in shown(closed_alone, ExitCode.DECIDED)


def test_only_three_failed_checks_are_named_those_that_decide_first(void):
    _, found = void
    (health,) = [
        each
        for each in found.checks.checks
        if each.id == "client-health"
        and each.load_point == found.decision.of("B").decision_point
    ]
    light = health.model_copy(update={"id": "light", "decisive": False})
    checks = Checks(checks=(light, light, light, light, health))

    said = list(why_void(found.decision, checks))

    assert [line.split("/")[0] for line in said if line.startswith("check")] == [
        *("check client-health", "check light", "check light")
    ]
    assert "2 more checks failed: the report has them" in said


def test_without_a_failed_check_the_candidates_own_reason_is_told(void):
    decision = void[1].decision

    said = list(why_void(decision, Checks(checks=())))

    assert f"B: {decision.of('B').why}" in said


def test_who_interrupts_learns_how_to_go_on(void):
    said = shown(void, ExitCode.INTERRUPTED, "SIGINT")

    assert "It ended early: SIGINT" in said
    assert "Go on with it: the same command with --resume latest" in said
    assert "--resume" not in shown(void, ExitCode.INTERRUPTED)
