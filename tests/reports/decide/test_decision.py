"""The decision, rule by rule, in the order in which they are applied."""

from __future__ import annotations

import pytest

from catalog.quantity import Basis
from reports.decide import decide
from reports.run.checks_file import Check, Checks
from reports.run.plan_file import DemandFacts, PriceFacts, QualityFacts
from tests.reports.decide.fields import CONTRACT, Rate, Runner, decided, plan_of, summary_of
from tests.reports.run.builder import NOW

FAST, SLOW = (2000.0, 2020.0, 1990.0), (1000.0, 1010.0, 990.0)


def priced(value=3.6, **changes):
    facts = PriceFacts(value=value, unit="USD/h", basis=Basis.ASSUMPTION, stated=True)
    return facts.model_copy(update=changes)


def test_a_candidate_twice_as_fast_at_the_same_price_is_chosen():
    found = decided([Runner(name="a", tokens=SLOW), Runner(name="b", tokens=FAST)])

    assert (found.outcome, found.chosen, found.exit_code) == ("chosen", "b", 0)
    assert found.runner_up == "a"
    assert found.gap.word == "better"
    assert found.gap.ratio.value == pytest.approx(0.5, rel=0.02)


def test_the_same_twice_shows_no_difference_and_names_the_tie_apart():
    found = decided(
        [Runner(name="a", tokens=SLOW), Runner(name="b", tokens=(1005.0, 995.0, 1002.0))]
    )

    assert (found.outcome, found.exit_code) == ("no difference shown", 5)
    assert found.chosen is None
    assert found.tie_break == "a"


@pytest.mark.parametrize(
    ("changes", "winner"),
    [
        ({"devices": 2, "price": 3.6}, "b"),  # fewer devices
        ({"devices": 1, "price": 3.6003}, "b"),  # then the lower hourly price
    ],
)
def test_ties_go_to_fewer_devices_then_the_lower_hourly_price(changes, winner):
    found = decided(
        [Runner(name="a", **changes), Runner(name="b", tokens=(995.0, 1004.0, 999.0))]
    )

    assert found.outcome == "no difference shown"
    assert found.tie_break == winner


def test_a_tie_goes_to_the_incumbent():
    found = decided(
        [Runner(name="a"), Runner(name="b", tokens=(1001.0, 1003.0, 994.0), devices=2)],
        incumbent="b",
    )

    assert found.tie_break == "b"


def test_an_incumbent_stays_where_a_switch_saves_too_little():
    better = [value * 1.08 for value in SLOW]
    runners = [Runner(name="a", tokens=SLOW), Runner(name="b", tokens=better)]

    stays = decided(runners, incumbent="a")
    goes = decided(runners, incumbent="a", switch_if_saves=0.05)

    assert (stays.outcome, stays.chosen) == ("chosen", "a")
    assert "must save 10%" in stays.sentence
    assert goes.chosen == "b"


def test_an_incumbent_that_misses_the_contract_has_no_say():
    found = decided(
        [Runner(name="a", verdict="misses"), Runner(name="b", price=9.0)], incumbent="a"
    )

    assert found.chosen == "b"


def test_only_the_proven_can_win_however_cheap_the_others_are():
    found = decided([Runner(name="a", price=0.1, verdict="inconclusive"), Runner(name="b")])

    assert found.chosen == "b"
    assert found.of("a").standing == "inconclusive"
    assert found.of("a").rank is None


def test_where_all_miss_none_complies():
    found = decided([Runner(name=name, verdict="misses") for name in "ab"])

    assert (found.outcome, found.exit_code) == ("none complies", 4)


def missing(*clauses):
    """The decision where each candidate misses these clauses: name, value, low and high."""
    runners = [Runner(name=name) for name in "abc"[: len(clauses)]]
    plan = plan_of(runners)
    summary = summary_of(plan, runners)
    changed = tuple(
        with_clauses(each, missed)
        for each, missed in zip(summary.candidates, clauses, strict=True)
    )
    whole = summary.model_copy(update={"candidates": changed})
    return decide(plan, whole, Checks(checks=()), NOW)


def with_clauses(candidate, missed):
    (cell,) = candidate.cells
    clauses = dict(cell.clauses)
    for name, value, low, high in missed:
        number = clauses[name].number.model_copy(
            update={"value": value, "low": low, "high": high}
        )
        clauses[name] = clauses[name].model_copy(update={"number": number, "verdict": "misses"})
    cells = (cell.model_copy(update={"clauses": clauses}),)
    return candidate.model_copy(update={"cells": cells})


def test_where_none_complies_the_nearest_miss_would_change_it():
    found = missing(
        [("itl", 40.0, 39.0, 41.0)],
        [("itl", 26.1, 25.8, 26.4), ("ttft", 1040.0, 1020.0, 1060.0)],
        [("goodput", 0.5, 0.45, 0.55)],
    )

    assert found.outcome == "none complies"
    assert [(each.candidate, each.what, each.now.value) for each in found.flips] == [
        ("b", "ttft limit", 1000.0),
        ("b", "itl limit", 25.0),
    ]
    assert found.flips[1].sentence == (
        "b comes nearest: itl 26.1 ms is 4.40% above the limit of 25.0 ms; "
        "with the ITL limit at least 26.4 ms it would be kept."
    )


def test_a_goodput_falls_short_of_its_target_from_below():
    (flip,) = missing([("goodput", 0.9, 0.88, 0.92)]).flips

    assert flip.flips_at.value == 0.88
    assert "goodput 90.0% is 5.26% below the limit of 95.0%" in flip.sentence
    assert "with the goodput target at most 88.0% it would be kept" in flip.sentence


def test_what_lies_among_the_failures_is_near_to_no_limit():
    assert missing([("itl", None, None, None)]).flips == ()


def test_one_request_per_second_is_one_and_shares_have_three_digits():
    one = decided([Runner(name="a", rates=[Rate(per_s=1), Rate(per_s=10, verdict="misses")])])
    runners = [
        Runner(name="a", tokens=FAST),
        Runner(name="b", tokens=SLOW),
        Runner(name="c", tokens=tuple(value / 1.6 for value in FAST), price=7.2),
    ]
    found = decided(runners)

    load = next(each.sentence for each in one.flips if each.what == "load")
    assert load == "One instance of a is proven up to 1 request per s; at 10 per s it misses."
    (gap,) = [line for line in found.because if "times that of a" in line]
    assert "of c is 3.20 times that of a (3.19 to 3.21): worse." in gap


def test_the_gap_to_the_runner_up_is_told_once():
    found = decided([Runner(name="a", tokens=FAST), Runner(name="b", tokens=SLOW)])

    assert (found.gap.candidate, found.gap.against, found.gap.word) == ("a", "b", "better")
    assert not any("times that of" in line for line in found.because)


@pytest.mark.parametrize(
    ("held", "why"),
    [
        ([Rate(per_s=2)], "service is proven to hold 2 of the 3 requests per s of the peak."),
        ([], "service has no proven rate."),
    ],
)
def test_an_endpoint_that_holds_less_than_the_peak_is_told_how_much(held, why):
    contract = CONTRACT.model_copy(update={"demand": DemandFacts(peak_per_s=3, mean_per_s=1)})
    service = Runner(
        name="service",
        price=priced(10.0, unit="USD/Mtok"),
        rates=held,
        facts={"kind": "endpoint", "host_class": "endpoint"},
    )
    alone = decided([service], contract=contract)
    beside = decided([service, Runner(name="ours", rates=[Rate(per_s=4)])], contract=contract)

    assert any(why in step for step in alone.rule)
    assert why in beside.rule


@pytest.mark.parametrize("cell", ["client-bound", "invalid", "not-steady"])
def test_a_void_cell_is_no_evidence_for_or_against(cell):
    for verdict in ("holds", "misses"):
        found = decided([Runner(name="a", cell=cell, verdict=verdict)])
        assert found.of("a").standing == "no valid evidence"
        assert (found.outcome, found.exit_code) == ("inconclusive", 7)


def test_a_cap_bound_cell_disqualifies_nobody():
    found = decided([Runner(name="a", cell="cap-bound", verdict="misses")])

    assert found.of("a").standing == "inconclusive"
    assert found.exit_code == 5


def test_an_open_question_beside_misses_is_not_none_complies():
    found = decided(
        [Runner(name="a", verdict="misses"), Runner(name="b", verdict="inconclusive")]
    )

    assert (found.outcome, found.exit_code) == ("inconclusive", 5)


def test_one_failed_candidate_beside_a_decision_is_a_note():
    found = decided([Runner(name="a"), Runner(name="b", tokens=(), failed=(0, 1, 2))])

    assert (found.chosen, found.exit_code) == ("a", 0)
    assert found.of("b").standing == "failed"


def test_when_nothing_came_up_nothing_is_decided():
    found = decided([Runner(name="a", tokens=(), failed=(0, 1, 2))])

    assert (found.outcome, found.exit_code) == ("nothing measured", 8)
    assert found.stamp == "ESTIMATE"


def test_a_candidate_that_fails_to_start_once_is_not_proven():
    found = decided([Runner(name="a", tokens=SLOW[:2], failed=(2,))])

    assert found.of("a").standing == "inconclusive"
    assert "1 of 3 launches failed" in found.of("a").why


def test_one_voted_out_on_paper_is_named_and_not_ranked():
    found = decided([Runner(name="a"), Runner(name="b", measured=False)])

    assert found.of("b").standing == "voted out on paper"
    assert any("b" in step and "paper" in step for step in found.rule)


def test_another_precision_needs_its_quality_proven_first():
    facts = {"parity": "needs quality proof"}
    unproven = decided([Runner(name="a"), Runner(name="b", tokens=FAST, facts=facts)])
    proven = decided(
        [Runner(name="a"), Runner(name="b", tokens=FAST, facts=facts, quality="holds")]
    )

    assert unproven.chosen == "a"
    assert unproven.of("b").standing == "needs quality proof"
    assert proven.chosen == "b"


def test_bad_answers_are_a_miss_however_fast():
    assert decided([Runner(name="a", quality="misses")]).of("a").standing == "misses"


def test_a_measurement_below_its_bound_supports_nothing():
    alarm = Check(
        id="contradiction",
        requirement="",
        observed="ITL 2 ms against a bound of 8 ms",
        needed="",
        verdict="fail",
        candidate="a",
        load_point="closed-4",
    )
    found = decided([Runner(name="a")], checks=[alarm])

    assert found.of("a").standing == "no valid evidence"
    assert found.exit_code == 7


def test_without_a_price_tokens_per_machine_hour_are_ranked():
    found = decided(
        [Runner(name="a", tokens=SLOW, price=None), Runner(name="b", tokens=FAST, price=99.0)]
    )

    assert found.chosen == "b"
    assert "machine-hour" in found.ranked_by


def test_prices_of_several_currencies_are_not_added_up():
    found = decided([Runner(name="a"), Runner(name="b", price=priced(unit="EUR/h"))])

    assert "machine-hour" in found.ranked_by


def test_a_spot_price_is_not_ranked_beside_on_demand_unless_asked():
    runners = [
        Runner(name="a", price=priced(3.6, commitment="on-demand")),
        Runner(name="b", price=priced(1.0, commitment="spot")),
    ]

    assert decided(runners).chosen == "a"
    assert decided(runners).of("b").rank is None
    assert decided(runners, commitments=("on-demand", "spot")).chosen == "b"


def test_where_no_price_is_of_the_asked_kind_tokens_are_ranked():
    runners = [
        Runner(name="a", price=priced(3.6, commitment="reserved")),
        Runner(name="b", price=priced(9.0, commitment="spot"), tokens=FAST),
    ]

    assert decided(runners).chosen == "b"
    assert "machine-hour" in decided(runners).ranked_by


def test_a_stale_price_cannot_decide_a_signoff():
    old = priced(3.6, stated=False, date="2026-01-01")
    found = decided([Runner(name="a", price=old)])

    assert any("stale" in reason for reason in found.of("a").unsignable)
    assert any("stale" in blocker for blocker in found.blockers)


def test_a_cost_ceiling_is_a_clause():
    contract = CONTRACT.model_copy(update={"cost_ceiling_usd_per_1m": 0.5})

    assert decided([Runner(name="a")], contract=contract).of("a").clauses["cost"] != "holds"


def test_the_bracket_ends_below_the_lowest_miss_even_if_a_higher_rate_held():
    rates = [Rate(per_s=2), Rate(per_s=4, verdict="misses"), Rate(per_s=8)]
    found = decided([Runner(name="a", rates=rates)]).of("a").held_rate

    assert (found.highest_proven, found.lowest_disproven) == (2, 4)


def test_demand_is_carried_by_whole_instances():
    demand = DemandFacts(peak_per_s=40, mean_per_s=9, headroom=0.2, spare=1)
    contract = CONTRACT.model_copy(update={"demand": demand})
    found = decided(
        [Runner(name="a", price=2.0, rates=[Rate(per_s=8), Rate(per_s=10, verdict="misses")])],
        contract=contract,
    )

    place = found.of("a")
    assert place.instances == 8  # ceil(40 / (8 × 0.8)) + 1
    assert place.monthly_usd.value == pytest.approx(8 * 2.0 * 730)
    assert place.monthly_usd.low == pytest.approx(6 * 2.0 * 730)  # at 10 per s
    assert found.chosen == "a"


def test_by_demand_the_cheaper_fleet_wins_though_its_tokens_cost_more():
    demand = DemandFacts(peak_per_s=3, mean_per_s=1)
    contract = CONTRACT.model_copy(update={"demand": demand})
    small = Runner(name="small", price=1.0, tokens=(100.0, 101.0, 99.0), rates=[Rate(per_s=4)])
    large = Runner(name="large", price=8.0, tokens=FAST, rates=[Rate(per_s=50)])

    assert decided([small, large]).chosen == "large"
    assert decided([small, large], contract=contract).chosen == "small"


@pytest.mark.parametrize(
    ("seconds", "launches", "stamp"),
    [(600.0, 3, "MEASURED"), (100.0, 3, "EXPLORATORY"), (600.0, 2, "EXPLORATORY")],
)
def test_a_fleet_is_sized_by_a_rate_that_was_measured_as_long_as_what_decides(
    seconds, launches, stamp
):
    contract = CONTRACT.model_copy(update={"demand": DemandFacts(peak_per_s=3, mean_per_s=1)})
    runners = [Runner(name="a", rates=(Rate(per_s=2, tokens=(900.0,) * launches),))]
    plan = plan_of(runners, contract)
    summary = summary_of(plan, runners)
    document = {"requests": {"measured": 500}, "window_s": seconds}
    (one,) = summary.candidates
    cells = tuple(
        cell.model_copy(
            update={
                "replications": tuple(
                    each.model_copy(update={"document": document}) for each in cell.replications
                )
            }
        )
        for cell in one.cells
    )
    whole = summary.model_copy(
        update={"candidates": (one.model_copy(update={"cells": cells}),)}
    )
    found = decide(plan, whole, Checks(checks=()), NOW)

    assert (found.chosen, found.stamp) == ("a", stamp)
    assert (found.blockers == ()) is (stamp == "MEASURED")


def test_a_demand_is_not_ranked_by_fleets_whose_machines_have_no_price_by_the_hour():
    contract = CONTRACT.model_copy(update={"demand": DemandFacts(peak_per_s=3, mean_per_s=1)})
    by_token = Runner(name="a", price=priced(0.6, unit="USD/Mtok"), rates=(Rate(per_s=2),))

    assert decided([by_token], contract=contract).chosen == "a"


def test_evidence_that_has_changed_proves_nothing_for_anybody():
    changed = Check(
        id="files-unchanged",
        requirement="as measured",
        observed="changed: 0.parquet",
        needed="the SHA-256",
        verdict="fail",
        waivable=False,
    )
    found = decided([Runner(name="a")], checks=[changed])

    assert found.of("a").standing == "no valid evidence"
    assert found.exit_code == 7


def test_an_open_check_of_any_candidate_stands_among_the_blockers():
    """A signoff refuses for it, so the page says so before."""
    open_ = Check(
        id="campaign-complete",
        requirement="all was measured",
        observed="missing: closed-4 replication 1",
        needed="3 replications",
        verdict="fail",
        candidate="b",
    )
    found = decided([Runner(name="a"), Runner(name="b", verdict="misses")], checks=[open_])

    assert found.chosen == "a"
    assert any("campaign-complete (b)" in line for line in found.blockers)


@pytest.mark.parametrize(("of", "blocks"), [("a", True), ("b", False)])
def test_quality_that_is_not_held_blocks_where_it_is_the_winners(of, blocks):
    """What another candidate's answers lose is why it is not chosen."""
    lost = Check(
        id="quality",
        requirement="answers are as good",
        observed="loses 9 points",
        needed="at most 1",
        verdict="fail",
        candidate=of,
        decisive=True,
    )
    found = decided([Runner(name="a"), Runner(name="b", quality="misses")], checks=[lost])

    assert found.chosen == "a"
    assert any(line.startswith("check quality") for line in found.blockers) is blocks


def test_rankings_that_disagree_depend_on_demand_and_say_where_they_cross():
    small = Runner(
        name="small",
        price=1.0,
        tokens=(1000.0, 1010.0, 990.0),
        rates=[Rate(per_s=4, tokens=(500.0, 505.0, 495.0))],
    )
    large = Runner(
        name="large",
        price=2.0,
        tokens=(1000.0, 1005.0, 992.0),
        rates=[Rate(per_s=12, tokens=(1500.0, 1515.0, 1485.0))],
    )
    found = decided([small, large])

    assert (found.outcome, found.exit_code) == ("depends on demand", 5)
    assert found.crossover.value == 8  # three of small cost 3, one of large costs 2


def test_an_endpoint_by_the_token_breaks_even_with_hardware_by_the_hour():
    endpoint = Runner(
        name="service",
        price=priced(10.0, unit="USD/Mtok"),
        facts={"kind": "endpoint", "host_class": "endpoint"},
    )
    found = decided([Runner(name="ours", price=3.6), endpoint])

    flip = next(each for each in found.flips if each.what == "load")
    assert flip.flips_at.value == pytest.approx(3.6 / 10 * 1e6 / 3600 / 128)
    assert "around the clock" in flip.sentence


def test_the_price_that_would_flip_it_is_the_one_of_equal_cost():
    found = decided([Runner(name="a", tokens=SLOW), Runner(name="b", tokens=FAST)])

    flip = next(each for each in found.flips if each.what == "price")
    assert (flip.candidate, flip.now.value) == ("a", 3.6)
    assert flip.flips_at.value == pytest.approx(1.8, rel=0.01)


def test_across_machines_the_margin_is_wider():
    better = [value * 1.035 for value in SLOW]
    near = decided([Runner(name="a", tokens=SLOW), Runner(name="b", tokens=better)])
    far = decided([Runner(name="a", tokens=SLOW), Runner(name="b", tokens=better, host="two")])

    assert (near.chosen, far.chosen) == ("b", None)
    assert far.gap.margin == 0.05


def test_single_comparisons_are_against_the_paper_s_primary_and_corrected():
    runners = [
        Runner(name="a", tokens=(1000.0, 1010.0, 990.0), devices=4),
        Runner(name="b", tokens=(1005.0, 995.0, 1000.0), facts={"ranks": ("primary",)}),
        Runner(name="c", tokens=(500.0, 505.0, 495.0)),
    ]
    found = decided(runners)
    rows = [row for row in found.comparisons if row.metric == "usd_per_1m_compliant"]

    assert {row.against for row in rows} == {"b"}
    assert {row.candidate: row.word for row in rows}["c"] == "worse"
    assert all(row.p_adjusted >= row.p for row in rows)


def test_dummy_weights_decide_on_speed_alone_and_say_so():
    found = decided([Runner(name="a", facts={"is_dummy": True})])

    assert found.of("a").unsignable == ()
    assert found.blockers == ()
    assert found.because[-1] == "a ran on dummy weights: this decides on speed alone."
    assert any("dummy weights" in step for step in found.rule)


@pytest.mark.parametrize("kind", ["is_moe", "is_speculative"])
def test_dummy_weights_of_experts_or_drafts_cannot_be_signed(kind):
    found = decided([Runner(name="a", facts={"is_dummy": True, kind: True})])

    assert any("dummy weights" in reason for reason in found.of("a").unsignable)
    assert set(found.of("a").unsignable) <= set(found.blockers)


def test_dummy_weights_cannot_be_signed_where_quality_is_asked_for():
    asked = CONTRACT.model_copy(update={"quality": QualityFacts(reference="bfloat16")})
    found = decided(
        [Runner(name="a", quality="holds", facts={"is_dummy": True})], contract=asked
    )

    assert any("asks for quality" in reason for reason in found.of("a").unsignable)


def test_a_tie_says_by_which_rule_it_was_taken_and_is_no_blocker():
    tie = [Runner(name="a"), Runner(name="b", tokens=(1005.0, 995.0, 1002.0))]
    by_rule, incumbent = decided(tie), decided(tie, incumbent="b")

    assert "a tie, taken by rule for a (fewer devices" in by_rule.sentence
    assert "a tie, taken by rule for b (it is the incumbent)" in incumbent.sentence
    assert by_rule.blockers == incumbent.blockers == ()


def test_a_ceiling_in_dollars_says_nothing_of_a_price_in_euros():
    ceiling = CONTRACT.model_copy(update={"cost_ceiling_usd_per_1m": 6.0})
    found = decided([Runner(name="a", price=priced(unit="EUR/h"))], contract=ceiling)

    assert found.of("a").clauses["cost"] == "inconclusive"
    assert "nothing is converted" in found.of("a").why


def test_cells_of_a_simulation_make_a_rehearsal_whatever_the_plan_says():
    runners = [Runner(name="a")]
    plan = plan_of(runners)
    summary = summary_of(plan, runners)
    (one,) = summary.candidates
    cells = tuple(c.model_copy(update={"basis": Basis.SIMULATION}) for c in one.cells)
    simulated = summary.model_copy(
        update={"candidates": (one.model_copy(update={"cells": cells}),)}
    )

    assert decide(plan, simulated, Checks(checks=()), NOW).stamp == "REHEARSAL"


@pytest.mark.parametrize(
    ("changes", "stamp"),
    [
        ({}, "MEASURED"),
        ({"exploratory": True}, "EXPLORATORY"),
        ({"rehearsal": True}, "REHEARSAL"),
    ],
)
def test_the_stamp_says_what_the_evidence_is(changes, stamp):
    assert decided([Runner(name="a")], **changes).stamp == stamp


def test_the_limiter_of_every_kind_has_its_four_texts():
    from reports.decide.limiter import texts
    from reports.run.decision_file import Limiter

    kinds = Limiter.model_fields["what"].annotation.__args__
    assert set(texts()) == set(kinds)
    for kind, text in texts().items():
        assert Limiter(what=kind, measured="seen", **text)
