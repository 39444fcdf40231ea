"""The stored operating characteristic is that of the verdict as it stands."""

from __future__ import annotations

from itertools import groupby, pairwise
from pathlib import Path

import numpy as np
import pytest

from reports.stats.campaigns import CampaignModel, verdict_shares
from reports.stats.operating import OperatingPoint, operating_characteristic, operating_rows

ROOT = Path(__file__).parents[3]
STORED = operating_characteristic()


def plan_of(point: OperatingPoint) -> tuple[float, ...]:
    return (point.requests, point.runs, point.correlation, point.spread)


@pytest.mark.parametrize("index", [4, 7, 12, 36, 41, 55])
def test_a_point_of_the_table_is_what_a_new_simulation_sees(index):
    point = STORED.points[index]
    model = CampaignModel(
        goodput=point.goodput,
        requests=point.requests,
        runs=point.runs,
        correlation=point.correlation,
        spread=point.spread,
    )
    holds, misses = verdict_shares(model, 2000, np.random.default_rng(1), STORED.target)

    for seen, stored in ((holds, point.holds), (misses, point.misses)):
        deviation = max(stored * (1 - stored) / 2000, 1e-6) ** 0.5
        assert seen == pytest.approx(stored, abs=4 * deviation + 0.001)


def test_at_the_target_neither_word_comes_more_often_than_7_times_in_100():
    at_target = [point for point in STORED.points if point.goodput == STORED.target]

    assert len(at_target) == 24
    assert max(max(point.holds, point.misses) for point in at_target) <= 0.07


def test_a_better_candidate_is_proven_more_often_and_refuted_less():
    for _, points in groupby(STORED.points, key=plan_of):
        row = list(points)

        assert [point.goodput for point in row] == sorted(point.goodput for point in row)
        for worse, better in pairwise(row):
            assert better.holds >= worse.holds - 0.01
            assert better.misses <= worse.misses + 0.01


def test_the_three_verdicts_share_all_campaigns():
    for point in STORED.points:
        assert 0 <= point.inconclusive <= 1
        assert point.holds + point.misses + point.inconclusive == pytest.approx(1)


@pytest.mark.parametrize(
    ("requests", "runs", "shown"),
    [(200, 3, (200, 3)), (300, 4, (200, 3)), (1500, 5, (1000, 5)), (9999, 9, (2000, 5))],
)
def test_a_plan_is_shown_as_the_largest_stored_one_within_it(requests, runs, shown):
    points = STORED.of_plan(requests, runs)

    assert {(point.requests, point.runs) for point in points} == {shown}
    assert len({(point.correlation, point.spread) for point in points}) == 3


def test_a_plan_smaller_than_any_stored_one_has_none():
    assert STORED.of_plan(199, 5) == ()
    assert STORED.of_plan(200, 2) == ()


def test_the_table_says_how_it_was_made():
    assert "make_operating_characteristic.py" in STORED.made
    assert STORED.campaigns == 10_000


def point_of(holds: float, misses: float) -> OperatingPoint:
    return OperatingPoint(
        requests=200,
        runs=3,
        correlation=0.8,
        spread=0.1,
        goodput=0.95,
        holds=holds,
        misses=misses,
    )


@pytest.mark.parametrize(
    ("holds", "misses", "cell"),
    [(0.0, 1.0, "<1 / >99"), (0.0049, 0.9951, "<1 / >99"), (0.05, 0.944, "5 / 94")],
)
def test_simulated_shares_are_never_printed_as_certain(holds, misses, cell):
    head, row = operating_rows([point_of(holds, misses)])

    assert head == ("launches × requests", "condition", "95.0%")
    assert row == ("3 × 200", "clustered", cell)


@pytest.mark.parametrize(
    ("page", "lines"), [("docs/concepts/statistics.md", 25), ("reports/METHOD.md", 7)]
)
def test_pages_print_the_stored_table(page, lines):
    text = (ROOT / page).read_text(encoding="utf-8")
    printed = [
        tuple(cell.strip() for cell in line.strip("| ").split(" | "))
        for line in text.splitlines()
        if " × " in line and " | " in line
    ]

    assert printed == operating_rows(STORED.points)[:lines]
