"""Each clause of the contract is judged apart, and never surer than its sample."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest

from reports.cell import CellSettings, Slo
from reports.cell.clauses import percentile_clause
from reports.cell.gaps import gap_clause
from reports.cell.goodput import compliant, goodput, goodput_clause, verdicts_differ
from reports.cell.latency import latencies

RNG_SEED = 1


def judged(hits: int, count: int, target: float = 0.95):
    meets = np.arange(count) < hits
    found = goodput(meets, np.ones(count, dtype=bool), np.ones(count))
    return goodput_clause(found, target, "tpot")


@pytest.mark.parametrize(
    ("hits", "verdict"),
    [
        (200, "holds"),
        (196, "holds"),
        (195, "inconclusive"),
        (185, "inconclusive"),
        (184, "misses"),
    ],
)
def test_goodput_of_95_percent_over_200_requests(hits, verdict):
    assert judged(hits, 200).verdict == verdict


def test_goodput_without_a_target_is_no_clause():
    assert judged(10, 200, None).verdict == "no such clause"


def test_goodput_of_no_requests_is_inconclusive():
    assert judged(0, 0).verdict == "inconclusive"


@pytest.mark.parametrize(
    ("values", "failures", "verdict"),
    [
        (np.full(200, 900.0), 0, "holds"),
        (np.full(200, 1100.0), 0, "misses"),
        (np.full(58, 900.0), 0, "inconclusive"),
        (np.full(59, 900.0), 0, "holds"),
        (np.linspace(0, 1050, 200), 0, "inconclusive"),
        (np.full(200, 900.0), 4, "holds"),
        (np.full(190, 900.0), 10, "inconclusive"),
        (np.full(180, 900.0), 20, "misses"),
        (np.array([]), 100, "misses"),
        (np.array([]), 0, "inconclusive"),
    ],
)
def test_a_percentile_is_judged_by_its_bounds_with_failures_as_infinite(
    values, failures, verdict
):
    assert percentile_clause("TTFT", values, failures, 1000.0, 95).verdict == verdict


def test_a_percentile_without_a_limit_is_no_clause_but_has_its_value():
    clause = percentile_clause("TTFT", np.arange(1.0, 101.0), 0, None, 95)

    assert (clause.verdict, clause.value) == ("no such clause", 95)


def test_a_value_on_the_limit_is_inside():
    assert percentile_clause("TTFT", np.full(59, 1000.0), 0, 1000.0, 95).verdict == "holds"


@pytest.mark.parametrize("count", [60, 200])
def test_a_percentile_on_the_limit_is_seldom_called_held_or_missed(count):
    rng = np.random.default_rng(RNG_SEED)
    limit = -np.log(0.05)
    verdicts = [
        percentile_clause("TTFT", rng.exponential(1, count), 0, limit, 95).verdict
        for _ in range(2000)
    ]

    assert verdicts.count("holds") / 2000 <= 0.06
    assert verdicts.count("misses") / 2000 <= 0.06


def clustered(rng, requests=200, gaps=100):
    """Gaps in ms: one in twenty above 20, and those in stalls that whole groups share."""
    stalled = rng.random(requests // 5) < 0.25
    slow = np.repeat(stalled, 5)[:, None] & (rng.random((requests, gaps)) < 0.2)
    return np.where(slow, 20.5, 5.0) + rng.random((requests, gaps))


def test_the_gap_percentile_is_over_all_gaps_of_the_cell(cell_of):
    cell = cell_of(range(100), gaps_ms=[[1.0] * 9 + [float(place)] for place in range(100)])

    assert gap_clause(cell, None, 95).value == 49


def test_gaps_that_stall_together_prove_less_than_as_many_independent_ones(cell_of):
    rng = np.random.default_rng(RNG_SEED)
    stalls = cell_of(range(200), gaps_ms=clustered(rng).tolist())
    apart = np.where(rng.random((200, 100)) < 0.05, 20.5, 5.0) + rng.random((200, 100))
    independent = cell_of(range(200), gaps_ms=apart.tolist())

    wide, narrow = gap_clause(stalls, None, 95), gap_clause(independent, None, 95)
    assert wide.high - wide.low > 0
    assert narrow.low > wide.low


def test_a_clustered_gap_percentile_on_the_limit_is_seldom_called_held(cell_of):
    rng = np.random.default_rng(RNG_SEED)
    verdicts = [
        gap_clause(cell_of(range(200), gaps_ms=clustered(rng).tolist()), 20.0, 95).verdict
        for _ in range(300)
    ]

    assert verdicts.count("holds") / 300 <= 0.08
    assert verdicts.count("misses") / 300 <= 0.1


def test_equal_gaps_are_judged_by_the_number_of_requests(cell_of):
    assert gap_clause(cell_of(range(59)), 10.0, 95).verdict == "holds"
    assert gap_clause(cell_of(range(58)), 10.0, 95).verdict == "inconclusive"
    assert gap_clause(cell_of(range(59)), 9.0, 95).verdict == "misses"


def test_a_failure_owes_as_many_infinite_gaps_as_a_success_has(cell_of, without_answers):
    cell = without_answers(cell_of(range(100)), np.arange(10), "failed_http")

    clause = gap_clause(cell, 25.0, 95)
    assert clause.value is None
    assert clause.low == inf or clause.verdict == "inconclusive"
    assert gap_clause(cell, 25.0, 85).value == 10


def test_gaps_of_nothing_but_failures_miss_and_of_nothing_are_inconclusive(
    cell_of, without_answers
):
    failed = without_answers(cell_of(range(100)), np.arange(100), "failed_connect")

    assert gap_clause(failed, 25.0, 95).verdict == "misses"
    assert gap_clause(cell_of([]), 25.0, 95).verdict == "inconclusive"


def meeting(cell, statistic="tpot", **settings):
    slo = settings.pop("slo", Slo(ttft_ms=60, itl_ms=12))
    return compliant(
        cell, latencies(cell), CellSettings(slo=slo, arrival="closed", **settings), statistic
    ).tolist()


def test_compliant_is_within_both_limits(cell_of):
    cell = cell_of([0, 0, 0], ttft_ms=[50, 70, 50], gaps_ms=[[10, 10], [10, 10], [20, 20]])

    assert meeting(cell) == [True, False, False]


@pytest.mark.parametrize(
    ("statistic", "meets"),
    [("tpot", [True, True]), ("p95_gap", [True, False]), ("max_gap", [False, False])],
)
def test_the_itl_statistic_decides_who_complies(cell_of, statistic, meets):
    rare, often = [10.0] * 99 + [30.0], ([10.0] * 9 + [30.0]) * 10
    rare[0] = 9.0
    cell = cell_of([0, 0], gaps_ms=[rare, often])

    assert meeting(cell, statistic) == meets


def test_nothing_but_success_complies(cell_of):
    outcomes = ["ok", "truncated", "failed_in_band", "timed_out", "cancelled"]

    assert meeting(cell_of([0] * 5, outcome=outcomes)) == [True, False, False, False, False]


def test_an_undefined_itl_complies_only_where_one_token_was_asked(cell_of):
    cell = cell_of([0], gaps_ms=[])

    assert meeting(cell, output_tokens=1) == [True]
    assert meeting(cell, output_tokens=2) == [False]
    assert meeting(cell, output_tokens=None) == [False]


def test_a_limit_on_the_first_answer_token_looks_past_the_reasoning(cell_of):
    cell = cell_of([0, 0], first_answer_ns=[55_000_000, 65_000_000])
    slo = Slo(ttft_ms=60, itl_ms=12, first="answer")

    assert meeting(cell, slo=slo) == [True, False]


def test_an_absent_limit_limits_nothing(cell_of):
    cell = cell_of([0], ttft_ms=1e6, gaps_ms=[1e5])

    assert meeting(cell, slo=Slo(itl_ms=2e5)) == [True]
    assert meeting(cell, slo=Slo(ttft_ms=2e6)) == [True]


def test_goodput_tells_the_share_of_tokens_that_compliant_requests_delivered():
    found = goodput(
        np.array([True, False, False]),
        np.array([True, True, False]),
        np.array([30.0, 10.0, 9.0]),
    )

    assert found.share == pytest.approx(1 / 3)
    assert found.tokens_share == 0.75


def test_statistics_that_disagree_on_the_clause_are_told():
    shares = {
        "tpot": goodput(np.arange(200) < 200, np.ones(200, bool), np.ones(200)),
        "max_gap": goodput(np.arange(200) < 100, np.ones(200, bool), np.ones(200)),
    }

    assert verdicts_differ(shares, 0.95)
    assert not verdicts_differ({"tpot": shares["tpot"]}, 0.95)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"percentile": 100}, "percentile is 100"), ({"goodput": 95}, "goodput is 95")],
)
def test_limits_that_make_no_sense_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        Slo(**changes)
