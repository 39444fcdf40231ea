"""Page 1: the figures that decide, the gap, and who has signed."""

from __future__ import annotations

import pytest

from reports.run.decision_file import Bracket, Comparison
from reports.sections.s01_decision import deciding_table, gap_sentence, section
from tests.reports.small import DECISION, measured, small_report


def figures(report) -> dict[str, tuple[str, ...]]:
    """Text, limits and detail of each deciding figure by its name."""
    chosen = report.decision.ranking[0]
    rows = deciding_table(report, chosen).rows
    return {row[0].text: (row[1].text, row[1].limits, row[1].detail) for row in rows}


def held(bracket: Bracket | None):
    """The small report with this bracket of rates."""
    first, *others = DECISION.ranking
    ranking = (first.model_copy(update={"held_rate": bracket}), *others)
    return small_report(decision=DECISION.model_copy(update={"ranking": ranking}))


def test_three_figures_decide_each_with_its_limits() -> None:
    assert figures(small_report()) == {
        "Highest rate that holds the contract": ("≥ 4", "", "misses at 6"),
        "Cost of 1M compliant output tokens": ("1.28", "1.26–1.31", ""),
        "Goodput": ("98.4", "≥ 97.2", "984 of 1000"),
    }


@pytest.mark.parametrize("bracket", [None, Bracket(highest_proven=None, lowest_disproven=6.0)])
def test_without_a_proven_rate_the_most_streams_that_hold_are_told(bracket) -> None:
    name, *_ = figures(held(bracket)).items()

    assert name == (
        "Most streams that hold the contract",
        ("≥ 16", "", "no higher level was measured"),
    )


def test_a_level_above_one_that_misses_proves_nothing(report_of_kind) -> None:
    report = report_of_kind("chosen")
    name = report.decision.chosen
    found = report.measured(name)
    first, second = sorted(found.cells, key=lambda cell: cell.point.concurrency)
    missed = {
        key: clause.model_copy(update={"verdict": "misses"})
        for key, clause in first.clauses.items()
    }
    cells = (first.model_copy(update={"clauses": missed}), second)
    fields = {each: getattr(report, each) for each in report.__slots__}
    others = tuple(each for each in report.summary.candidates if each.name != name)
    candidates = (found.model_copy(update={"cells": cells}), *others)
    summary = report.summary.model_copy(update={"candidates": candidates})

    text, _, why = figures(type(report)(**(fields | {"summary": summary})))[
        "Most streams that hold the contract"
    ]

    assert (text, why) == ("–", "no load but the contract's own is proven")


def test_the_gap_says_who_is_better_and_by_how_much() -> None:
    gap = Comparison(
        candidate="B",
        against="C",
        metric="usd_per_1m",
        ratio=measured(0.648, "1", low=0.626, high=0.671, n=None),
        margin=0.05,
        word="better",
    )

    assert gap_sentence(gap) == (
        "B against C, $ per 1M compliant tokens: better. The ratio is 0.648 (0.626 to 0.671, "
        "5 launches, measurement). Differences within ±5% do not count."
    )


def test_a_run_that_nobody_has_signed_has_no_table_of_signatures() -> None:
    assert section(small_report())["signoff"] is None
