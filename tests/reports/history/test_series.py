"""Only comparable runs stand in one series; its changes of level are found and marked."""

from __future__ import annotations

import pytest

from reports.history.index import Index, gather
from reports.history.series import (
    LOOK_BACK,
    all_series,
    marked_changes,
    with_changes,
)
from tests.reports.history.runs import make_run, stepped


def series_of(root, candidate="B", metric="ttft_p95_ms", load_point="closed-4"):
    runs = gather(root, Index(maker="t")).runs
    return [
        each
        for each in all_series([run for run in runs if run.state == "concluded"])
        if (each.key.candidate, each.key.metric, each.key.load_point)
        == (candidate, metric, load_point)
    ]


@pytest.mark.parametrize("campaign", ["a", "b", "c", "d", "e"])
def test_a_step_of_5_percent_is_flagged_by_the_third_run_after_it(tmp_path, campaign) -> None:
    stepped(tmp_path, before=8, after=3, step=1.05, cv=0.01, campaign=campaign)

    (found,) = series_of(tmp_path)
    changes = with_changes(found).changes

    assert changes
    assert changes[-1].is_up
    assert changes[-1].ratio == pytest.approx(1.05, abs=0.03)


def test_of_unchanged_series_few_are_flagged(tmp_path) -> None:
    names = tuple(f"c{number}" for number in range(20))
    for place in range(11):
        make_run(tmp_path, place, names=names)

    series = [each for name in names for each in series_of(tmp_path, name)]
    flagged = sum(bool(with_changes(each).changes) for each in series)

    assert len(series) == 20
    assert flagged <= 3  # 5% of 20 is one; four or more come by chance in 1.6% of seeds


def test_fewer_than_eight_runs_say_nothing(tmp_path) -> None:
    stepped(tmp_path, before=4, after=3, step=2)

    (found,) = series_of(tmp_path)

    assert with_changes(found).changes is None


@pytest.mark.parametrize(
    "other",
    [
        {"contract": None},
        {"method_version": 2},
        {"rehearsal": True},
        {"imported": "vllm"},
        {"exploratory": True},
        {"device": "nvidia-h100"},
    ],
)
def test_runs_that_cannot_be_compared_stand_apart(tmp_path, other) -> None:
    first = make_run(tmp_path, 0)
    plan = dict(other)
    from reports.run.read import read_run

    base = read_run(first.path).plan
    if "contract" in other:
        plan = {"contract": base.contract.model_copy(update={"concurrency": 8})}
    if "device" in other:
        facts = [c.model_copy(update=other) for c in base.candidates]
        plan = {"candidates": tuple(facts)}
    make_run(tmp_path, 1, plan=plan)

    assert [len(each.seen) for each in series_of(tmp_path)] == [1, 1]


def test_a_new_release_stays_in_the_series_and_is_marked(tmp_path) -> None:
    make_run(tmp_path, 0)
    make_run(tmp_path, 1, release="0.7.0", price=4.0)

    (found,) = series_of(tmp_path)
    runs = gather(tmp_path, Index(maker="t")).runs

    assert [each.marks for each in found.seen] == [
        (),
        ("launch fingerprint", "price", "release"),
    ]
    assert ("price", "3.67 USD/h", "4 USD/h") in [
        (what, old, new) for _, name, what, old, new in marked_changes(runs) if name == "B"
    ]


def test_cells_that_are_no_evidence_are_shown_and_not_searched(tmp_path) -> None:
    for place in range(12):
        make_run(tmp_path, place, level=1 if place < 8 else 3, verdict="client-bound")

    (found,) = series_of(tmp_path)

    assert len(found.seen) == 12
    assert with_changes(found).changes is None


def test_a_level_that_becomes_infinite_is_a_change(tmp_path) -> None:
    notes = {"ttft_p95_ms": "in the median launch it lies among the failures"}
    for place in range(12):
        make_run(tmp_path, place, notes=notes if place >= 7 else None)

    (found,) = series_of(tmp_path)
    (change,) = with_changes(found).changes or ()

    assert (change.path, change.is_up, change.ratio) == (found.seen[7].run.path, True, None)


def test_only_the_decision_load_and_watched_metrics_are_searched(tmp_path) -> None:
    stepped(tmp_path, step=2)

    assert with_changes(series_of(tmp_path, load_point="closed-8")[0]).changes is None
    assert with_changes(series_of(tmp_path, metric="ttft_p50_ms")[0]).changes is None


def test_the_search_looks_back_so_far_and_no_further(tmp_path) -> None:
    stepped(tmp_path, before=8, after=LOOK_BACK, step=2)

    (found,) = series_of(tmp_path)

    assert with_changes(found).changes == ()
