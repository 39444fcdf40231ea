"""Errors and biases of predictions, golden values to the digit."""

from __future__ import annotations

from dataclasses import replace

import pytest

from reports.prediction import scored
from reports.run.prediction_file import (
    CandidatePrediction,
    LoadPrediction,
    PredictionFile,
    Range,
)
from reports.run.summary_file import ReplicationSummary
from reports.sections.s13_predicted import section
from tests.reports.small import CELL, SUMMARY, small_report


def expected(stage="before", unknown=None, **figures) -> PredictionFile:
    loads = (
        LoadPrediction(
            load_point="closed-16",
            figures={
                name: Range(p10=low, p50=mid, p90=high, unit="1" if name == "goodput" else "ms")
                for name, (low, mid, high) in figures.items()
            },
        ),
    )
    candidate = CandidatePrediction(
        candidate="B", unknown=unknown, rests_on=("a prior",), loads=loads if figures else ()
    )
    return PredictionFile(
        stage=stage, made_at="2026-08-22T12:00:00+00:00", candidates=(candidate,)
    )


def replication(number: int, verdict="valid", goodput=0.97, **figures) -> ReplicationSummary:
    return ReplicationSummary(
        replication=number,
        launch=f"B-{number}",
        verdict=verdict,
        problems=(),
        records=f"{number}.parquet",
        figures=figures,
        document={"clauses": {"goodput": {"value": goodput}}},
    )


def summary(*replications: ReplicationSummary):
    (b,) = SUMMARY.candidates
    cell = CELL.model_copy(update={"replications": replications})
    return SUMMARY.model_copy(update={"candidates": (b.model_copy(update={"cells": (cell,)}),)})


MEASURED = summary(
    replication(0, ttft_p95_ms=400.0, tpot_p95_ms=20.0),
    replication(1, ttft_p95_ms=200.0, tpot_p95_ms=20.0),
    replication(2, ttft_p95_ms=250.0, tpot_p95_ms=None),
)


def test_an_error_is_predicted_less_measured_as_a_share_of_the_median_launch() -> None:
    score = scored([expected(ttft_p95_ms=(250, 300, 350))], MEASURED)

    assert score is not None
    (one,) = score.figures
    assert (one.measured, one.inside) == (250.0, True)
    assert one.error == pytest.approx(0.2)
    (total,) = score.totals
    assert (total.cells, total.inside) == (1, 1.0)
    assert (total.median_error, total.bias) == (pytest.approx(0.2), pytest.approx(0.2))


def test_goodput_is_off_by_points_and_not_by_a_share() -> None:
    score = scored([expected(goodput=(0.8, 0.9, 0.95))], MEASURED)

    assert score is not None
    assert score.figures[0].error == pytest.approx(-0.07)
    assert not score.figures[0].inside


def test_what_the_first_launch_predicts_is_held_against_the_later_ones_alone() -> None:
    score = scored([expected("after-first-launch", ttft_p95_ms=(1, 225, 300))], MEASURED)

    assert score is not None
    assert score.figures[0].measured == 225.0
    assert score.figures[0].error == 0.0


def test_a_cell_that_shows_the_client_scores_nothing() -> None:
    spoilt = summary(replication(0, "client-bound", ttft_p95_ms=9.0))
    score = scored([expected(ttft_p95_ms=(1, 2, 3))], spoilt)

    assert score is not None
    assert score.figures == ()
    assert score.totals == ()


def test_what_was_not_predicted_is_said_with_its_reason_and_no_number() -> None:
    score = scored([expected(unknown="the device of host 'local'")], MEASURED)

    assert score is not None
    assert score.figures == ()
    assert score.unknown == ("B (before): the device of host 'local'",)


def test_a_load_that_was_not_predicted_is_said_too() -> None:
    file = expected(ttft_p95_ms=(1, 2, 3))
    (b,) = file.candidates
    far = LoadPrediction(load_point="closed-64", unknown="64 streams at once")
    loads = (*b.loads, far)
    candidates = (b.model_copy(update={"loads": loads}),)

    score = scored([file.model_copy(update={"candidates": candidates})], MEASURED)

    assert score is not None
    assert score.unknown == ("B at closed-64 (before): 64 streams at once",)


def test_launches_that_a_score_is_silent_about_are_counted() -> None:
    file = expected(ttft_p95_ms=(1, 2, 3), tpot_p95_ms=(1, 2, 3))
    spoilt = replication(3, verdict="client-bound", ttft_p95_ms=1.0, tpot_p95_ms=1.0)
    measured = summary(*MEASURED.candidates[0].cells[0].replications, spoilt)

    score = scored([file], measured)

    assert score is not None
    assert score.unscored == (
        "B at closed-16 (before): TPOT p95 of 2 of 4 launches",
        "B at closed-16 (before): TTFT p95 of 1 of 4 launches",
    )


def test_decision_cells_show_the_contracts_own_percentile() -> None:
    measured = summary(replication(0, ttft_p99_ms=400.0, ttft_p95_ms=300.0))
    files = (expected(ttft_p99_ms=(1, 500, 600), ttft_p95_ms=(1, 300, 400)),)
    report = small_report(
        summary=measured, predictions=files, prediction_score=scored(files, measured)
    )
    slo = report.plan.contract.slo.model_copy(update={"percentile": 99.0})
    contract = report.plan.contract.model_copy(update={"slo": slo})

    content = section(
        replace(report, plan=report.plan.model_copy(update={"contract": contract}))
    )

    assert content is not None
    assert [row[2].text for row in content["cells"].rows] == ["TTFT p99"]


def test_a_run_without_predictions_has_no_score_and_no_section() -> None:
    assert scored([], MEASURED) is None
    assert section(small_report()) is None


def test_the_report_shows_errors_with_their_sign_and_what_they_rest_on() -> None:
    files = (expected(ttft_p95_ms=(250, 300, 350), tpot_p95_ms=(8, 10, 12)),)
    report = small_report(
        summary=MEASURED, predictions=files, prediction_score=scored(files, MEASURED)
    )

    content = section(report)

    assert content is not None
    totals = {row[1].text: [cell.text for cell in row] for row in content["totals"].rows}
    assert totals["TTFT p95"][3:] == ["20", "20", "+20", "100"]
    assert totals["TPOT p95"][3:] == ["50", "50", "−50", "0"]
    cells = {row[2].text: row for row in content["cells"].rows}
    assert cells["TPOT p95"][4].meaning == "warn"
    assert content["rests_on"] == ("B, before anything was measured: a prior.",)
