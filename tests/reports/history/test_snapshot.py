"""A run takes the comparable runs beside it along, and no more than a series needs."""

from __future__ import annotations

import json

import jsonschema

from reports.history.series import LOOK_BACK, WATCHED, all_series, with_changes
from reports.history.snapshot import earlier_runs, snapshot_text
from reports.run.history_file import HistoryFile
from reports.run.plan_file import RunPlan
from reports.run.read import read_run
from reports.schemas import result_schema
from tests.reports.history.runs import make_run


def taken(plan: RunPlan, folders) -> HistoryFile:
    found = earlier_runs(plan, [each.path for each in reversed(folders)])
    assert found is not None
    return found


def test_comparable_runs_are_kept_oldest_first(tmp_path) -> None:
    runs = [make_run(tmp_path, place) for place in range(4)]
    plan = read_run(runs[-1].path).plan
    found = taken(plan, runs[:3])

    assert [each.path for each in found.runs] == [each.path.name for each in runs[:3]]
    (points,) = {tuple(p.load_point for p in run.candidates[0].points) for run in found.runs}
    assert set(points) == {"closed-4"}
    metrics = {point.metric for point in found.runs[0].candidates[0].points}
    assert metrics == set(WATCHED)


def test_runs_of_another_question_and_broken_ones_are_left_out(tmp_path) -> None:
    other = make_run(tmp_path, 0, plan={"exploratory": True})
    broken = make_run(tmp_path, 1)
    (broken.path / "summary.json").write_text("{}")
    plan = read_run(make_run(tmp_path, 2).path).plan

    assert earlier_runs(plan, [broken.path, other.path]) is None


def test_no_more_are_kept_than_a_series_looks_back_on(tmp_path) -> None:
    run = make_run(tmp_path, 0)
    found = taken(read_run(run.path).plan, [run] * (LOOK_BACK + 5))

    assert len(found.runs) == LOOK_BACK - 1


def test_the_file_fits_its_schema_and_is_read_back_the_same(tmp_path) -> None:
    run = make_run(tmp_path, 0)
    found = taken(read_run(run.path).plan, [run])
    text = snapshot_text(found)

    jsonschema.Draft202012Validator(result_schema("history")).validate(json.loads(text))
    assert HistoryFile.model_validate_json(text) == found
    assert snapshot_text(found) == text


def test_a_series_from_the_snapshot_has_the_changes_of_the_whole_history(tmp_path) -> None:
    """With the third run after a step of 5%, in a series of 1% from run to run."""
    runs = [make_run(tmp_path, place, level=1.0 if place < 8 else 1.05) for place in range(11)]
    plan = read_run(runs[-1].path).plan
    found = taken(plan, runs)
    (series,) = [
        each
        for each in all_series(found.runs)
        if (each.key.candidate, each.key.metric) == ("B", "ttft_p95_ms")
    ]

    assert with_changes(series).changes
