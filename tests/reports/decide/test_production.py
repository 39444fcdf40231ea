"""The repetition at production clocks decides what the winner costs, and nothing else."""

from __future__ import annotations

import pytest

from reports.decide import decide
from reports.run.checks_file import Checks
from reports.run.plan_file import MatrixFacts
from reports.run.summary_file import Summary
from tests.reports.decide.fields import CONTRACT, POINT, Runner, decided, plan_of, summary_of
from tests.reports.run.builder import NOW

LOCKED, FREE = (1000.0, 1010.0, 990.0), (2000.0, 2020.0, 1980.0)


def place(found, name="a"):
    return next(each for each in found.ranking if each.name == name)


def test_the_winners_cost_is_that_of_production_clocks_and_both_are_told():
    found = decided([Runner(name="a", tokens=LOCKED, locked=True, production=FREE)])

    assert found.chosen == "a"
    assert place(found).usd_per_1m.value == pytest.approx(0.5, rel=0.02)
    assert place(found).decision_point == "closed-4"
    assert any("that at production clocks" in line for line in found.because)
    assert any("locked clocks of the comparison" in line for line in found.because)


def test_the_repetition_moves_no_rank_no_clause_and_no_standing():
    """Its clauses miss, and its tokens would beat the other's."""
    slow = Runner(name="a", tokens=LOCKED, locked=True, production=(9000.0, 9010.0, 8990.0))
    fast = Runner(name="b", tokens=(1500.0, 1510.0, 1490.0), locked=True)

    found = decided([slow, fast])

    assert found.chosen == "b"
    assert place(found).standing == "complies"
    assert set(place(found).clauses.values()) == {"holds"}


@pytest.mark.parametrize(
    "changes",
    [
        {"production": ()},
        {"production": FREE[:2]},  # fewer launches than decided it
        {"production": FREE, "production_cell": "not-steady"},
    ],
)
def test_without_a_whole_and_valid_repetition_the_locked_cost_is_told_as_such(changes):
    found = decided([Runner(name="a", tokens=LOCKED, locked=True, **changes)])

    assert place(found).usd_per_1m.value == pytest.approx(1.0)
    assert any("that at locked clocks" in line for line in found.because)


def test_where_no_clock_was_locked_nothing_is_said_of_clocks():
    found = decided([Runner(name="a", tokens=LOCKED)])

    assert not any("clocks" in line for line in found.because)


def test_a_level_at_production_clocks_is_none_of_an_offline_family():
    matrix = MatrixFacts(
        load_points=(POINT,),
        decision_point=None,
        requests=200,
        warmup="fixed",
        warmup_requests=20,
        replications=3,
        seed=1,
    )

    found = decided(
        [Runner(name="a", tokens=LOCKED, locked=True, production=FREE)], matrix=matrix
    )

    assert place(found).decision_point == "closed-4"
    assert place(found).usd_per_1m.value == pytest.approx(0.5, rel=0.02)


@pytest.mark.parametrize(("high", "verdict"), [(0.9, "holds"), (0.4, "misses")])
def test_the_ceiling_on_cost_is_held_against_production_clocks(high, verdict):
    """0.5 a million there; 1.0 at locked clocks."""
    contract = CONTRACT.model_copy(update={"cost_ceiling_usd_per_1m": high})
    runners = [Runner(name="a", tokens=LOCKED, locked=True, production=FREE)]
    plan = plan_of(runners, contract)

    found = decide(plan, sure(summary_of(plan, runners)), Checks(checks=()), NOW)

    assert place(found).clauses["cost"] == verdict


def sure(summary: Summary) -> Summary:
    """The summary with intervals of no width."""

    def cell(each):
        sure_of = {
            name: number.model_copy(update={"low": number.value, "high": number.value})
            for name, number in each.measures.items()
        }
        return each.model_copy(update={"measures": sure_of})

    return summary.model_copy(
        update={
            "candidates": tuple(
                each.model_copy(update={"cells": tuple(map(cell, each.cells))})
                for each in summary.candidates
            )
        }
    )
