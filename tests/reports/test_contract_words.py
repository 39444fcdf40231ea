"""The contract of a run in words: every limit, its numerator and its denominator."""

from __future__ import annotations

import pytest

from reports.contract_words import (
    arrivals_line,
    lengths,
    limits_line,
    load,
    out_of_scope,
    slo_sentences,
    workload_lines,
)
from reports.run.plan_file import LoadPoint, OfflineFacts, QualityFacts, SloFacts
from tests.reports.small import PLAN

CONTRACT, MATRIX = PLAN.contract, PLAN.matrix
OFFLINE = CONTRACT.model_copy(
    update={"slo": SloFacts(), "offline": OfflineFacts(requests=5000, deadline_s=3600)}
)


def test_limits_stand_in_one_line() -> None:
    ceiling = CONTRACT.model_copy(update={"cost_ceiling_usd_per_1m": 2.5})

    assert limits_line(CONTRACT) == "p95 TTFT ≤ 1,000 ms, p95 TPOT ≤ 25 ms, goodput ≥ 95%"
    assert limits_line(ceiling).endswith(", at most $2.50/Mtok")
    assert limits_line(OFFLINE) == "5,000 requests within 3,600 s"


def test_goodput_is_said_with_numerator_denominator_and_budget_of_misses() -> None:
    clauses, goodput, budget = slo_sentences(CONTRACT, MATRIX)

    assert "failures counted as infinite" in clauses
    assert "(denominator), at least 95% are compliant (numerator)" in goodput
    assert budget.startswith("That is a budget of 10 misses in 200 requests")


@pytest.mark.parametrize(("goodput", "misses"), [(0.95, 10), (0.99, 2), (0.995, 1), (0.9, 20)])
def test_the_budget_of_misses_is_what_the_share_leaves(goodput, misses) -> None:
    contract = CONTRACT.model_copy(update={"slo": SloFacts(goodput=goodput)})

    assert f"budget of {misses} misses in 200" in list(slo_sentences(contract, MATRIX))[-1]


def test_an_offline_contract_has_a_goal_and_no_limits() -> None:
    (sentence,) = slo_sentences(OFFLINE, MATRIX)

    assert sentence == "Offline: 5,000 requests within 3,600 s; there are no latency limits."


@pytest.mark.parametrize(
    ("point", "words"),
    [
        (
            LoadPoint(name="a", process="closed", concurrency=1),
            "1 stream kept in flight (closed loop)",
        ),
        (
            LoadPoint(name="a", process="poisson", rate_per_s=1),
            "Poisson arrivals at 1 request/s",
        ),
        (
            LoadPoint(name="a", process="constant", rate_per_s=2.718281, max_in_flight=16),
            "constant arrivals at 2.72 requests/s, at most 16 in flight",
        ),
    ],
)
def test_a_load_point_is_said_in_words(point, words) -> None:
    assert load(point) == words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1024", "1,024 tokens"),
        ("normal:1024:64:2048", "normal, mean 1024, standard deviation 64 tokens"),
        ("uniform:8:64", "uniform from 8 to 64 tokens"),
        ("lognormal:800:0.6", "lognormal:800:0.6 tokens"),
    ],
)
def test_lengths_are_said_in_words(text, words) -> None:
    assert lengths(text) == words


def test_quality_is_said_to_be_asked_or_not() -> None:
    asked = QualityFacts(reference="bfloat16", max_loss=0, tasks=("mmlu", "gsm8k"))
    with_quality = CONTRACT.model_copy(update={"quality": asked})

    assert list(workload_lines(CONTRACT))[-1].startswith("Quality: the contract asks for none")
    assert (
        "0 points lost against bfloat16 on mmlu, gsm8k"
        in list(workload_lines(with_quality))[-1]
    )
    assert "the quality of answers" in out_of_scope(CONTRACT)
    assert "the quality of answers" not in out_of_scope(with_quality)


def test_the_load_that_decides_is_named() -> None:
    family = MATRIX.model_copy(update={"decision_point": None})

    assert "16 streams kept in flight (closed loop) (load point closed-16)" in arrivals_line(
        MATRIX
    )
    assert "judged as a family" in arrivals_line(family)
