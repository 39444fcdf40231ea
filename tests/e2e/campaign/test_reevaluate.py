"""A pinned decision is measured again on real servers, and people are told of the answer."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator

import pytest

from flows.check_run import check_run
from reports.history.read import facts_of
from reports.history.site import write_history
from reports.run import layout
from reports.run.read import read_run
from tests.e2e.campaign.week import Week, later, lived, until

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("reevaluate")]
ENDS = {"still valid": 0, "regression": 6}  # the machine may have become busier meanwhile
DEPLOYMENT = "runoff-reevaluate/reevaluate-small"


@pytest.fixture(scope="module")
def week(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Week]:
    with lived(tmp_path_factory.mktemp("week"), tmp_path_factory.mktemp("home")) as found:
        yield found


def test_the_baseline_is_measured_again_and_its_decision_held_against_it(week):
    assert week.ended["compare"][0] == 0, week.ended["compare"]
    code, out, _ = week.ended["again"]
    told = json.loads(out)
    baseline, run = week.runs

    assert code == told["exit_code"] == ENDS[told["reevaluation"]["answer"]]
    assert told["reevaluation"]["winner_now"] == "a"
    assert told["reevaluation"]["stamp"] == "REHEARSAL"
    assert told["reevaluation"]["baseline"] == baseline.name
    assert told["run"].endswith(run.name)
    assert [each["metric"] for each in told["reevaluation"]["since"]] == [
        "compliant_tok_per_machine_hour",
        "ttft_p95_ms",
        "tpot_p95_ms",
    ]


def test_the_run_holds_the_answer_and_everything_that_it_rests_on(week):
    _, folder = week.runs
    run = read_run(folder)
    today = dt.datetime.now(dt.UTC).date()
    rows = check_run(run.folder, version=run.plan.runoff_version, today=today)
    verdicts = {row.id: row.verdict for row in rows}

    assert run.baseline is not None
    assert run.baseline.run == week.runs[0].name
    assert run.plan.incumbent == run.baseline.control == "a"
    assert run.reevaluation is not None
    assert [each.path for each in run.history.runs] == [week.runs[0].name]
    for name in ("manifest", "files", "contract", "conclusion", "pages"):
        assert verdicts[name] == "pass"
    assert run.reevaluation.sentence in folder.joinpath(layout.REPORT_HTML).read_text()


def test_a_webhook_is_given_the_answer_with_its_reasons_and_its_place(week):
    said = week.receiver.to("/team")[0]

    answer = read_run(week.runs[1]).reevaluation

    assert said["subject"] == f"small: {answer.answer}"
    assert (said["sentence"], said["stamp"]) == (answer.sentence, "REHEARSAL")
    assert said["exit_code"] == ENDS[answer.answer]
    assert len(said["reasons"]) == len(answer.reasons)
    assert said["place"].endswith(f"{week.runs[1].name}/report.html")
    assert "told by webhook/team" in week.ended["again"][2]


def test_a_notification_block_is_given_subject_and_text(week):
    code, out, err = week.ended["prices"]
    (said,) = week.receiver.to("/chat")

    assert code == 0
    assert "PRICES ONLY: re-evaluation of" in out
    assert "Never signed" in out
    assert "told by custom-webhook/chat" in err
    assert said["title"] == "small: still valid"
    assert "PRICES ONLY, exit code 0" in said["text"]


def test_answers_at_prices_are_kept_beside_the_runs_and_are_no_runs(week):
    kept = sorted((week.folder.path / "runs" / "small" / "prices").glob("*.json"))
    answers = [json.loads(path.read_text()) for path in kept]

    assert answers
    assert {each["stamp"] for each in answers} == {"PRICES ONLY"}
    assert len(week.runs) == 2


def test_the_history_says_what_the_re_evaluation_answered(week):
    facts = facts_of(week.runs[1], week.runs[1].name)
    out = week.folder.path / "site"
    written = write_history(
        week.folder.path / "runs", out, maker="t", today=dt.datetime.now(dt.UTC).date()
    )
    page = (out / "small.html").read_text()

    assert facts.baseline == week.runs[0].name
    assert facts.answer in ENDS
    assert f"re-evaluation of {week.runs[0].name}: " in page
    assert len(written.runs) == 2


def test_deploy_registers_nothing_that_would_tell_nobody(week):
    code, out, err = week.ended["mistyped"]

    assert (code, out) == (2, "")
    assert "webhook/nobody: the server has no such block" in err


def test_the_server_tells_when_a_deployments_run_fails_and_blocks_that_fail_are_said(week):
    """One automation, though it was asked for twice; a message that is refused is no error."""
    assert week.ended["deploy"][0] == 0, week.ended["deploy"]
    assert "automation 'runoff: a run failed (webhook/team)'" in week.ended["deploy"][2]
    before = len(week.receiver.to("/team"))
    refused, lacking, unknown = later(week, DEPLOYMENT)
    until(lambda: len(week.receiver.to("/team")) > before, "a message of the server")
    (said,) = week.receiver.to("/team")[before:]

    assert refused == "nobody was told by webhook/broken: it answered 500"
    assert lacking == "nobody was told by webhook/nobody: ValueError"
    assert unknown.startswith("webhook/nobody: the server has no such block")
    assert said["sentence"] == 'exit code 6: "Regression": b is slower'
    assert said["subject"] == "reevaluate-small: Failed"
