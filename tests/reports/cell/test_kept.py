"""Of each request it is known whether it kept each limit, in the order of arrival."""

from __future__ import annotations

import numpy as np
import pytest

from reports.cell import CellSettings, Slo, judge


def judged(columns, **slo):
    return judge(columns, CellSettings(slo=Slo(**slo), arrival="poisson", output_tokens=4))


def test_a_request_keeps_a_limit_by_its_own_latency(cell_of):
    cell = cell_of([0, 100, 200], ttft_ms=[40, 90, 50], gaps_ms=(10, 20, 30))

    found = judged(cell, ttft_ms=50, itl_ms=20).kept

    assert found.ttft.hits.tolist() == [1, 0, 1]
    assert found.itl.hits.tolist() == [1, 1, 1]
    assert found.compliant["tpot"].tolist() == [True, False, True]
    assert found.compliant["max_gap"].tolist() == [False, False, False]


def test_the_order_is_that_of_due_times_whatever_that_of_the_records(cell_of):
    cell = cell_of([200, 0, 100], ttft_ms=[90, 10, 20])

    assert judged(cell, ttft_ms=50).kept.ttft.hits.tolist() == [1, 1, 0]


def test_gaps_count_apart_and_a_failure_owes_as_many_as_others_have(cell_of, without_answers):
    cell = without_answers(cell_of([0, 100, 200], gaps_ms=(10, 20, 30)), [1])

    found = judged(cell, itl_ms=20, itl_statistic="p95_gap").kept.itl

    assert found.hits.tolist() == [2, 0, 2]
    assert found.trials.tolist() == [3, 3, 3]


def test_a_limit_that_the_contract_lacks_is_none(cell_of):
    found = judged(cell_of([0, 100])).kept

    assert found.ttft is None
    assert found.itl is None
    assert set(found.compliant.values()) == {None}


@pytest.mark.parametrize("statistic", ["tpot", "p95_gap", "max_gap"])
def test_the_shares_are_those_of_the_summary(cell_of, statistic):
    rng = np.random.default_rng(1)
    cell = cell_of(
        np.arange(100) * 10.0,
        ttft_ms=rng.uniform(10, 60, 100),
        gaps_ms=rng.uniform(5, 25, (100, 9)).tolist(),
    )

    found = judged(cell, ttft_ms=50, itl_ms=18, itl_statistic=statistic)

    for name, flags in found.kept.compliant.items():
        assert flags.sum() == found.summary.goodput[name].compliant
