"""Page 1: the figures that decide, the gap, and who has signed."""

from __future__ import annotations

import pytest

from catalog.quantity import Basis
from reports.pages import pages, report_html
from reports.run import layout
from reports.run.decision_file import Bracket, Comparison
from reports.run.number import Number
from reports.run.plan_file import DemandFacts
from reports.sections import sections_of
from reports.sections.s01_decision import deciding_table, gap_sentence, section
from reports.sections.s05_verdicts import section as verdicts
from reports.sections.s14_can_see import section as can_see
from tests.reports.pages_of import parsed
from tests.reports.small import DECISION, MANIFEST, PLAN, measured, small_report


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


def test_a_run_that_can_be_signed_has_empty_rows_beside_its_manifest() -> None:
    report = small_report(decision=DECISION.model_copy(update={"blockers": ()}))
    table = section(report)["to_sign"]

    assert [column.title for column in table.columns] == [
        "Role", "Name", "Date", "Statement", "Manifest, SHA-256"
    ]  # fmt: skip
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["", "", "", "", MANIFEST],
        ["", "", "", "", MANIFEST],
    ]
    page = parsed(report_html(report, sections_of(report)))
    (shown,) = [each for each in page.find("table") if "To be signed" in each.text]
    assert [each.text for each in shown.find("td")] == ["", "", "", MANIFEST] * 2


@pytest.mark.parametrize(
    "change", [{"blockers": ("quality not measured",)}, {"stamp": "REHEARSAL", "blockers": ()}]
)
def test_a_run_that_cannot_be_signed_has_no_rows_to_sign(change) -> None:
    report = small_report(decision=DECISION.model_copy(update=change))

    assert section(report)["to_sign"] is None


def test_the_top_of_every_page_says_how_long_it_is_good_and_when_to_measure_again() -> None:
    report = small_report()
    (_, banner, *_) = report_html(report, sections_of(report)).split("<header")
    said = " ".join(banner.partition("</header>")[0].split())

    assert "<strong>Valid until</strong> 2026-10-30." in said
    assert (
        "<strong>Re-run when:</strong> The contract changes: model, lengths, load or limits."
        in said
    )
    assert "A price changes, or 2026-10-30 has passed." in said
    assert "Valid until** 2026-10-30" in pages(report)[layout.REPORT_MARKDOWN]


def fleet(**demand: float):
    """The small report with a fleet of three for this demand, at $8,000 a month."""
    first, *others = DECISION.ranking
    cost = Number(value=8000, unit="USD", basis=Basis.MEASUREMENT)
    place = first.model_copy(update={"instances": 3, "monthly_usd": cost})
    contract = PLAN.contract.model_copy(
        update={"demand": DemandFacts(**demand), "mean_output_tokens": 128.0}
    )
    return small_report(
        plan=PLAN.model_copy(update={"contract": contract}),
        decision=DECISION.model_copy(update={"ranking": (place, *others)}),
    )


def test_where_a_demand_is_stated_what_is_paid_for_idle_hours_is_told_in_money() -> None:
    report = fleet(peak_per_s=10, mean_per_s=3)
    words = (
        "Of what the fleet of B bears, 12.0 requests/s, the mean of 3.00 leaves 75.0% idle: "
        "$6,000 a month. With idle hours in it an output token costs $7.93/Mtok."
    )

    assert words in section(report)["consequences"]
    assert verdicts(report)["idle"] == (words,)


def test_a_mean_above_what_the_fleet_is_proven_to_bear_leaves_nothing_idle() -> None:
    report = fleet(peak_per_s=20, mean_per_s=13)

    assert "leaves 0% idle: $0 a month" in verdicts(report)["idle"][0]


def test_without_a_demand_there_is_no_idle_share() -> None:
    assert verdicts(small_report())["idle"] == ()


@pytest.mark.parametrize(
    ("slo", "matrix", "why"),
    [
        ({"goodput": None}, {}, "asks for no goodput"),
        ({"goodput": 0.99}, {}, "the contract asks for 99.0%"),
        ({}, {"requests": 20, "replications": 1}, "1 launch of 20 requests"),
    ],
)
def test_an_operating_characteristic_that_is_not_known_says_why(slo, matrix, why) -> None:
    contract = PLAN.contract
    plan = PLAN.model_copy(
        update={
            "contract": contract.model_copy(
                update={"slo": contract.slo.model_copy(update=slo)}
            ),
            "matrix": PLAN.matrix.model_copy(update=matrix),
        }
    )
    report = small_report(plan=plan)

    assert why in can_see(report)["why"]
    assert why in report_html(report, sections_of(report))


def test_an_exploratory_run_shows_its_operating_characteristic_too() -> None:
    report = small_report(plan=PLAN.model_copy(update={"exploratory": True}))

    assert can_see(report)["table"].rows
    assert "Operating characteristic" in report_html(report, sections_of(report))
