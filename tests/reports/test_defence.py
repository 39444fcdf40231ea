"""Why not the others, in words made from the numbers."""

from __future__ import annotations

from reports.defence import defence
from tests.reports.small import DECISION, small_report


def test_the_choice_is_defended_with_the_limit_that_decided_each_clause() -> None:
    first = defence(small_report())[0]

    assert first.startswith(
        "B is chosen: p95 TTFT holds: 340 ms (at most 358 ms) against ≤ 1,000 ms"
    )
    assert "goodput (TPOT) holds: 98.4% (at least 97.2%) against ≥ 95.0%" in first
    assert "p95 TPOT holds: 18.2 ms (at most 18.5 ms) against ≤ 25.0 ms" in first


def test_what_the_paper_promised_stands_beside_what_came() -> None:
    lines = defence(small_report())

    assert any("measured was 18.2 ms, 2.2 times as much" in line for line in lines)


def test_a_candidate_out_on_paper_is_told_with_its_bound(report_of_kind) -> None:
    lines = defence(report_of_kind("nothing measured"))

    (line,) = (line for line in lines if line.startswith("D "))
    assert "51.77 ms even at the peak of 300.0 GB/s; 25.00 ms are allowed" in line
    assert "by assumption 69.3 ms" in line
    assert line.endswith("It was not measured and cost nothing.")


def test_a_candidate_that_misses_is_told_by_the_clauses_it_misses(report_of_kind) -> None:
    lines = defence(report_of_kind("none complies"))

    (line,) = (line for line in lines if line.startswith("C:"))
    assert "p95 TTFT misses: " in line
    assert "against ≤ 1,000 ms" in line
    assert "p95 TPOT" not in line


def test_the_second_is_told_by_how_much_it_falls_behind(report_of_kind) -> None:
    (line,) = (
        each for each in defence(report_of_kind("rehearsal")) if each.startswith("C keeps")
    )

    assert "$ per 1M compliant tokens 1." in line
    assert "times that of B (" in line


def test_nothing_chosen_is_defended_by_nothing() -> None:
    nobody = DECISION.model_copy(update={"chosen": None, "outcome": "inconclusive"})

    assert not any("is chosen" in line for line in defence(small_report(decision=nobody)))
