"""A re-evaluation answers with what its run shows, and says which kind of change did it."""

from __future__ import annotations

import json
from dataclasses import replace

import jsonschema
import pytest

from reports.again import concluded_again
from reports.history.snapshot import snapshot_text
from reports.manifest import write_manifest
from reports.render import render_run
from reports.run import layout
from reports.run.history_file import HistoryFile
from reports.run.read import file_text, read_run
from reports.run.reevaluation_file import Reevaluation
from reports.schemas import result_schema
from tests.reports.reevaluate.again import (
    CONTROL,
    answer_of,
    baseline_run,
    begun,
    control,
    newer,
    pin,
)
from tests.reports.run.builder import CONTRACT, B, C, Made, launch_fingerprint

SAME = (control(), newer(), C)
OTHER_LAUNCH = {"fingerprint": "d" * 64}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return baseline_run(tmp_path_factory.mktemp("pinned"))


@pytest.fixture(scope="module")
def unchanged(tmp_path_factory, folder):
    """A re-evaluation in which nothing but the release differs."""
    run = begun(tmp_path_factory.mktemp("same"), pin(folder), SAME)
    return run, answer_of(run)


def kinds(answer: Reevaluation) -> list[str]:
    return [each.kind for each in answer.reasons]


def test_where_nothing_moved_the_decision_is_still_valid(unchanged) -> None:
    _, answer = unchanged

    assert (answer.answer, answer.exit_code, answer.reasons) == ("still valid", 0, ())
    assert (answer.winner_before, answer.control, answer.champion) == ("B", CONTROL, "B")
    assert answer.sentence.startswith("Still valid: B stays. Measured again beside C")
    assert all(each.paired for each in answer.versions)
    assert not any(each.paired for each in answer.since)
    assert {each.margin for each in answer.versions} == {0.02}
    assert {each.margin for each in answer.since} == {0.05}
    assert [(each.kind, each.candidate) for each in answer.changes] == [
        ("version", "B"),
    ]


def test_a_decision_that_is_still_valid_says_what_loss_its_intervals_do_not_exclude(
    unchanged,
) -> None:
    _, answer = unchanged
    limits = [
        limit
        for each in answer.versions
        if (limit := each.ratio.high if each.metric.endswith("_ms") else None) is not None
    ]
    limits += [2 - each.ratio.low for each in answer.versions if "_tok_" in each.metric]
    said = [
        each for each in answer.notes if each.startswith(f"That B is {max(limits) - 1:.0%}")
    ]

    assert len(limits) == len(answer.versions)
    assert len(said) == (max(limits) - 1 > 0.02)


def test_the_answer_comes_out_of_the_runs_own_files_again(unchanged) -> None:
    run, answer = unchanged

    assert concluded_again(read_run(run.path)) == ()
    altered = answer.model_copy(update={"answer": "regression", "exit_code": 6})
    path = run.file(layout.REEVALUATION)
    kept = path.read_text()
    path.write_text(file_text(altered))
    found = concluded_again(read_run(run.path))
    path.write_text(kept)

    assert [(each.of, each.seen) for each in found] == [
        (layout.REEVALUATION, "answer is not what the evidence gives")
    ]


def test_an_answer_that_was_taken_away_or_put_there_is_told(unchanged) -> None:
    run, _ = unchanged
    path = run.file(layout.REEVALUATION)
    kept = path.read_text()
    path.unlink()
    found = concluded_again(read_run(run.path))
    path.write_text(kept)

    assert [each.of for each in found] == [layout.REEVALUATION]


@pytest.mark.parametrize("name", ["baseline", "reevaluation"])
def test_both_files_fit_their_published_schemas(unchanged, name: str) -> None:
    run, _ = unchanged
    text = (run.path / f"{name}.json").read_text()

    jsonschema.Draft202012Validator(result_schema(name)).validate(json.loads(text))


def test_the_pages_say_it_above_the_decision_and_in_a_part_of_its_own(unchanged) -> None:
    run, answer = unchanged
    made = {name: path.read_bytes() for name, path in render_run(run).files.items()}
    again = {name: path.read_bytes() for name, path in render_run(run).files.items()}
    page = made[layout.REPORT_HTML].decode()

    assert made == again
    assert page.index(answer.sentence) < page.index('id="decision"')
    assert 'id="reevaluation"' in page
    assert "paired by launch, in this run" in page
    assert "across the two runs" in page
    assert f"**{answer.sentence}**" in made[layout.REPORT_MARKDOWN].decode()
    assert "reevaluation" in made[layout.JUNIT].decode()


def test_a_newer_release_that_is_slower_is_a_regression_by_version(tmp_path, folder) -> None:
    made = (control(noise=0.0), newer(itl_ms=20.0, noise=0.0), C)
    answer = answer_of(begun(tmp_path, pin(folder), made))

    assert (answer.answer, answer.exit_code) == ("regression", 6)
    assert set(kinds(answer)) == {"version"}
    assert "B with vllm 0.33.0 is worse than with vllm 0.6.3" in answer.sentence
    assert answer.winner_now == CONTROL


def test_other_settings_of_one_release_are_told_apart_by_how_they_are_started(
    tmp_path, folder
) -> None:
    started = newer(itl_ms=20.0, noise=0.0, facts={"version": "0.6.3", **OTHER_LAUNCH})
    answer = answer_of(begun(tmp_path, pin(folder), (control(noise=0.0), started, C)))

    assert (answer.answer, set(kinds(answer))) == ("regression", {"version"})
    assert (
        "B as it is started today is worse than as the baseline started it" in answer.sentence
    )


def test_a_newer_release_that_is_faster_is_told_and_changes_nothing(tmp_path, folder) -> None:
    answer = answer_of(begun(tmp_path, pin(folder), (control(), newer(itl_ms=12.0), C)))

    assert answer.answer == "still valid"
    assert any("shown to be better" in note for note in answer.notes)


def test_a_configuration_that_is_slower_than_it_was_is_a_regression_by_measurement(
    tmp_path, folder
) -> None:
    slow = (control(itl_ms=18.0), newer(itl_ms=18.0), replace(C, itl_ms=13.2))
    run = begun(tmp_path, pin(folder), slow)
    host = run.host("host-B") / "system.json"
    host.write_text(host.read_text().replace("550.54.15", "570.1"))
    answer = answer_of(run)

    assert (answer.answer, answer.exit_code) == ("regression", 6)
    assert set(kinds(answer)) == {"measurement"}
    assert "its driver was 550.54.15 and is 570.1" in answer.sentence
    assert ("measurement", CONTROL, "driver", "550.54.15", "570.1") in [
        (each.kind, each.candidate, each.what, each.before, each.now) for each in answer.changes
    ]


def test_what_moved_without_a_recorded_cause_is_said_to_have_none(tmp_path, folder) -> None:
    same = pin(folder, control="B", champion="B", versions="pinned")
    answer = answer_of(begun(tmp_path, same, (replace(B, itl_ms=18.0), C)))

    assert kinds(answer)[0] == "measurement"
    assert "nothing that was recorded of the machines differs" in answer.sentence


def test_a_cheaper_challenger_changes_the_decision_by_price(tmp_path, folder) -> None:
    made = (control(), newer(), replace(C, price=1.0))
    answer = answer_of(begun(tmp_path, pin(folder), made))

    assert (answer.answer, answer.exit_code, answer.winner_now) == ("decision changed", 6, "C")
    assert kinds(answer) == ["price"]
    assert "At the baseline's prices B would have stayed" in answer.sentence


def test_a_challengers_newer_release_changes_the_decision_by_version(tmp_path, folder) -> None:
    fast = replace(C, itl_ms=5.0, ttft_ms=100.0, facts={**C.facts, "version": "0.33.0"})
    answer = answer_of(begun(tmp_path, pin(folder), (control(), newer(), fast)))

    assert (answer.answer, answer.winner_now) == ("decision changed", "C")
    assert kinds(answer) == ["version"]
    assert "C runs vllm 0.33.0, and ran vllm 0.6.3" in answer.sentence


def test_a_challenger_that_merely_measures_better_changes_it_by_measurement(
    tmp_path, folder
) -> None:
    fast = replace(C, itl_ms=5.0, ttft_ms=100.0)
    same = pin(folder, control="B", champion="B", versions="pinned")
    answer = answer_of(begun(tmp_path, same, (B, fast)))

    assert (answer.answer, answer.winner_now) == ("decision changed", "C")
    assert kinds(answer) == ["measurement"]
    assert "the figures moved" in answer.sentence


def test_a_new_candidate_that_wins_is_named_as_new(tmp_path, folder) -> None:
    made = (control(), newer(), C, Made(name="E", price=1.0))
    answer = answer_of(begun(tmp_path, pin(folder), made))

    assert (answer.answer, answer.winner_now) == ("decision changed", "E")
    assert "candidate" in kinds(answer)


def test_another_contract_is_a_reason_and_old_figures_are_not_held_against_it(
    tmp_path, folder
) -> None:
    strict = CONTRACT.slo.model_copy(update={"itl_ms": 13.0})
    contract = CONTRACT.model_copy(update={"slo": strict})
    answer = answer_of(begun(tmp_path, pin(folder), SAME, contract=contract))

    assert (answer.answer, answer.winner_now) == ("decision changed", "C")
    assert kinds(answer)[0] == "contract"
    assert answer.since == ()
    assert any("the contract is another one" in each for each in answer.warnings)


def test_without_the_baselines_own_configuration_nothing_is_shown(tmp_path, folder) -> None:
    made = (control(failed_launches=(0, 1, 2)), newer(failed_launches=(0, 1, 2)), C)
    answer = answer_of(begun(tmp_path, pin(folder), made))

    assert (answer.answer, answer.winner_now) == ("inconclusive", "C")
    assert answer.exit_code in (5, 7, 8)
    assert CONTROL in answer.sentence


@pytest.mark.parametrize(
    "made",
    [
        (control(itl_ms=18.0, facts=OTHER_LAUNCH), newer(itl_ms=18.0), C),
        (control(itl_ms=40.0, facts=OTHER_LAUNCH), newer(itl_ms=40.0), C),
        (control(facts=OTHER_LAUNCH), newer(), C),
        (control(facts=OTHER_LAUNCH), newer(), replace(C, price=1.0)),
    ],
    ids=["worse", "misses", "equal", "another is decided for"],
)
def test_a_control_that_is_launched_otherwise_is_not_the_baselines_configuration(
    tmp_path, folder, made
) -> None:
    answer = answer_of(begun(tmp_path, pin(folder), made))
    was, now = launch_fingerprint("B")[:8], "d" * 8

    assert (answer.answer, answer.exit_code, answer.reasons) == ("inconclusive", 5, ())
    assert f"its launch fingerprint was {was} and is {now}" in answer.sentence
    assert "own configuration" not in answer.sentence
    assert answer.since == ()
    assert any("is not started as in the baseline" in each for each in answer.warnings)


@pytest.mark.parametrize("lacking", [CONTROL, "B"])
def test_control_and_champion_must_both_be_shown_for_a_decision_to_be_still_valid(
    tmp_path, folder, lacking
) -> None:
    never = {"failed_launches": (0, 1, 2)}
    made = (
        control(**(never if lacking == CONTROL else {})),
        newer(**(never if lacking == "B" else {})),
        C,
    )
    answer = answer_of(begun(tmp_path, pin(folder), made))

    assert (answer.answer, answer.exit_code) == ("inconclusive", 5)
    assert answer.sentence.startswith(f"Inconclusive: of {lacking}, ")
    assert "none of 3 launches came up" in answer.sentence


def test_where_nobody_holds_the_contract_any_longer_the_decision_changed(
    tmp_path, folder
) -> None:
    made = (control(itl_ms=40.0), newer(itl_ms=40.0), replace(C, itl_ms=40.0))
    answer = answer_of(begun(tmp_path, pin(folder), made))

    assert (answer.answer, answer.winner_now) == ("decision changed", None)
    assert "no candidate holds the contract any longer" in answer.sentence


def test_a_challenger_without_evidence_is_named(tmp_path, folder) -> None:
    made = (control(), newer(), replace(C, failed_launches=(0, 1, 2)))
    answer = answer_of(begun(tmp_path, pin(folder), made))

    assert answer.answer == "still valid"
    assert any(each.startswith("C could not take the decision") for each in answer.warnings)


def test_a_rehearsal_is_not_held_against_measured_figures(tmp_path, folder) -> None:
    answer = answer_of(begun(tmp_path, pin(folder), SAME, rehearsal=True))

    assert answer.stamp == "REHEARSAL"
    assert answer.since == ()
    assert any("measured, these are simulated" in each for each in answer.warnings)


def test_what_history_alone_shows_is_a_warning_and_changes_no_answer(
    tmp_path, folder, unchanged
) -> None:
    """Nine runs of another level lie before; the runs themselves are alike."""
    from reports.history.read import concluded_facts

    run = begun(tmp_path, pin(folder), SAME)
    answer_of(run)
    read = read_run(run.path)
    now = concluded_facts(run.path, "now", read.plan, read.summary, read.decision)
    runs = []
    for day in range(10, 20):
        level = 0.9 if day < 18 else 1.0
        wave = 1 + 0.002 * (day % 3)
        candidates = tuple(
            each.model_copy(
                update={
                    "points": tuple(
                        p.model_copy(update={"value": p.value and p.value * level * wave})
                        for p in each.points
                    )
                }
            )
            for each in now.candidates
        )
        at = now.at.replace(day=day) if now.at else None
        path = f"day-{day}"
        runs.append(now.model_copy(update={"path": path, "at": at, "candidates": candidates}))
    run.file(layout.HISTORY).write_text(snapshot_text(HistoryFile(runs=tuple(runs))))
    answer = answer_of(run)
    write_manifest(run)

    assert answer.answer == "still valid"
    shown = [each for each in answer.warnings if each.startswith("History alone shows: ")]
    assert any("TTFT p95" in each and "rose by" in each for each in shown)
    assert concluded_again(read_run(run.path)) == ()
    page = render_run(run).files[layout.REPORT_HTML].read_text()
    assert 'id="history"' in page
    assert 'id="figure-history"' in page


def test_the_comparison_is_of_what_the_contract_limits(tmp_path, folder, unchanged) -> None:
    _, answer = unchanged

    assert [each.metric for each in answer.versions] == [
        "compliant_tok_per_machine_hour",
        "ttft_p95_ms",
        "tpot_p95_ms",
    ]
