"""A run is decided again under other conditions, from what was measured and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reports.conclude import conclude
from reports.run.plan_file import DemandFacts, LoadPoint, SloFacts
from reports.run.read import file_text, read_run
from reports.whatif import Asked, suppose
from reports.whatif.asked import supposed_plan
from reports.whatif.rates import points_at
from tests.reports.run.builder import CLOSED, CONTRACT, NOW, B, C, Made, build_run, priced

RATES = tuple(
    LoadPoint(name=f"poisson-{rate:g}", process="poisson", rate_per_s=rate)
    for rate in (1.0, 2.0, 4.0)
)
SMALL = {"requests": 60, "duration_s": 20.0}
POINTS = (CLOSED[1], CLOSED[4], CLOSED[8], *RATES)

LATE = {"loop_lag_ms_p99": 40.0, "cpu_share": 0.99, "plan_ran_out": False}
SHARD = {"client": LATE, "complete": True, "warmup_converged": None, "connections": {}}
VOID = Made(name="B", client={"shards": [SHARD]})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """B is the cheaper one and holds 2/s; C holds 4/s."""
    made = (Made(name="B", holds_rate=2.0), C)
    folder = build_run(tmp_path_factory.mktemp("run"), made, points=POINTS, **SMALL)
    conclude(folder, now=NOW)
    return read_run(folder.path)


def point(run, name):
    return next(each for each in run.plan.matrix.load_points if each.name == name)


def test_with_nothing_asked_for_it_is_the_runs_own_decision_bit_by_bit(run):
    found = suppose(run, Asked())

    assert file_text(found.now) == file_text(run.decision)
    assert (found.is_changed, found.changes) == (False, ())
    assert found.sentence.startswith("The decision stays: B is chosen")


def test_a_decision_that_is_none_is_not_said_to_stay(tmp_path):
    slow = Made(name="B", itl_ms=60.0)
    folder = build_run(tmp_path, (slow,), points=(CLOSED[4],), **SMALL)
    conclude(folder, now=NOW)

    found = suppose(read_run(folder.path), Asked())

    assert found.sentence == "Still no candidate holds the contract: B misses it."


def test_what_was_not_decided_is_still_not_decided(tmp_path):
    folder = build_run(tmp_path, (VOID,), points=(CLOSED[4],), **SMALL)
    conclude(folder, now=NOW)

    found = suppose(read_run(folder.path), Asked())

    assert found.then.outcome == "inconclusive"
    assert found.sentence.startswith("Still nothing is decided: of B it is not shown")


def test_its_own_limits_held_against_the_records_again_change_no_bit(run):
    found = suppose(run, Asked(slo=run.plan.contract.slo))

    assert file_text(found.now) == file_text(run.decision)


def test_its_own_load_and_prices_change_no_bit(run):
    prices = {each.name: each.price for each in run.plan.candidates}

    found = suppose(run, Asked(prices=prices, point=point(run, "closed-4")))

    assert file_text(found.now) == file_text(run.decision)


@settings(max_examples=5)
@given(factor=st.floats(1.2, 30))
def test_a_winner_priced_above_its_break_even_loses_and_below_it_stays(run, factor):
    flip = next(each for each in run.decision.flips if each.what == "price")
    even = run.plan.candidate("B").price.value * flip.now.value / flip.flips_at.value

    above = suppose(run, Asked(prices={"B": priced(even * factor)}))
    below = suppose(run, Asked(prices={"B": priced(even / factor)}))

    assert (above.is_changed, above.now.chosen) == (True, "C")
    assert above.sentence.startswith("The decision changes from B to C: C is chosen")
    assert (below.is_changed, below.now.chosen) == (False, "B")


def test_a_tighter_limit_is_held_against_the_request_records(run):
    slo = run.plan.contract.slo.model_copy(update={"itl_ms": 13.0})

    found = suppose(run, Asked(slo=slo))

    assert found.now.chosen == "C"
    assert found.now.of("B").clauses["itl"] == "misses"
    assert "B was complying and is missing the contract" in found.sentence
    (change,) = found.changes
    assert ("TPOT ≤ 25 ms" in change.was, "TPOT ≤ 13 ms" in change.now) == (True, True)


def test_goodput_is_counted_anew_under_the_new_limits(run):
    """What is compliant, and with it what a compliant token costs, follows the limits."""
    limit = 15.0  # B's median request: about half of its requests keep it
    slo = SloFacts(ttft_ms=1000.0, itl_ms=limit, percentile=95.0, goodput=None)

    found = suppose(run, Asked(slo=slo)).now.of("B")

    assert found.clauses["goodput"] == "no such clause"
    assert found.usd_per_1m.value > 1.3 * run.decision.of("B").usd_per_1m.value


@pytest.mark.parametrize("percentile", [50.5, 99.0])
def test_another_percentile_is_judged_as_a_run_under_it_would_be(tmp_path, percentile):
    slo = CONTRACT.slo.model_copy(update={"percentile": percentile, "ttft_ms": 400.0})
    parts = (B,), {"points": (CLOSED[4],), **SMALL}
    stated = build_run(
        tmp_path / "a",
        parts[0],
        contract=CONTRACT.model_copy(update={"slo": slo}),
        **parts[1],
    )
    other = build_run(tmp_path / "b", parts[0], **parts[1])
    expected, _ = conclude(stated, now=NOW), conclude(other, now=NOW)

    found = suppose(read_run(other.path), Asked(slo=slo))

    assert file_text(found.now) == file_text(expected.decision)


def test_another_measured_load_is_judged_by_its_own_cells(run):
    found = suppose(run, Asked(point=point(run, "poisson-4")))

    assert found.now.of("B").standing == "misses"
    assert found.now.of("C").decision_point == "poisson-4"
    assert found.now.chosen == "C"


def test_a_rate_that_was_not_measured_is_answered_by_its_bracket_or_not_at_all(run):
    answers = {
        rate: {e.candidate: e.answer for e in suppose(run, Asked(rate_per_s=rate)).answers}
        for rate in (0.5, 3.0, 6.0)
    }

    unknown = "unknown: not measured"
    assert answers[0.5] == {"B": "holds", "C": "holds"}
    assert answers[3.0] == {"B": unknown, "C": "holds"}
    assert answers[6.0] == {"B": "misses", "C": unknown}


def test_no_decision_is_made_up_for_a_rate_that_was_not_measured(run):
    found = suppose(run, Asked(rate_per_s=3.0))

    assert (found.now, found.is_changed) == (None, None)
    assert found.sentence.startswith("Unknown: at 3/s nothing was measured. B: unknown")
    assert "proven up to 2/s, missed from 4/s on" in found.sentence


@settings(max_examples=30)
@given(rate=st.floats(0.01, 20, exclude_min=True))
def test_an_answer_of_a_bracket_never_goes_beyond_it(run, rate):
    for each in suppose_answers(run, rate):
        held = run.decision.of(each.candidate).held_rate
        if each.answer == "holds":
            assert rate <= held.highest_proven
        elif each.answer == "misses":
            assert rate >= held.lowest_disproven
        else:
            assert rate > (held.highest_proven or 0)


def suppose_answers(run, rate):
    from reports.whatif.rates import answers_at

    return answers_at(run.summary, run.plan.contract, rate)


def test_a_candidate_that_was_not_measured_at_a_load_leaves_it_open(run, tmp_path):
    """One was stopped before its cells at 4/s; another one holds there."""
    folder = build_run(tmp_path, (B, C), points=(CLOSED[4], RATES[2]), **SMALL)
    for path in (folder.path / "cells").glob("B--poisson-4--*/*"):
        path.unlink()
    conclude(folder, now=NOW)

    found = suppose(read_run(folder.path), Asked(point=RATES[2]))

    assert found.now is None
    assert [(e.candidate, e.answer) for e in found.answers] == [("B", "unknown: not measured")]
    assert "not every candidate was measured" in found.sentence


def test_a_demand_ranks_fleets_of_whole_instances(run):
    demand = DemandFacts(peak_per_s=3.5, mean_per_s=1.0)

    found = suppose(run, Asked(demand=demand)).now

    assert found.ranked_by.startswith("monthly cost")
    assert {e.name: e.instances for e in found.ranking if e.instances} == {"B": 2, "C": 1}


def test_a_demand_can_be_dropped(tmp_path):
    contract = CONTRACT.model_copy(
        update={"demand": DemandFacts(peak_per_s=3.5, mean_per_s=1.0)}
    )
    folder = build_run(
        tmp_path, (B, C), contract=contract, points=(CLOSED[4], RATES[2]), **SMALL
    )
    conclude(folder, now=NOW)

    found = suppose(read_run(folder.path), Asked(without_demand=True))

    assert found.then.ranked_by.startswith("monthly cost")
    assert found.now.ranked_by.startswith("cost of 1M compliant tokens")


def test_exploratory_evidence_stays_exploratory_and_says_so(run):
    found = suppose(run, Asked(prices={"B": priced(1.0)}))

    assert run.decision.stamp == found.evidence == "EXPLORATORY"
    assert any("stamped EXPLORATORY" in each for each in found.caveats)


def test_a_simulation_stays_one(tmp_path):
    folder = build_run(tmp_path, (B,), rehearsal=True, points=(CLOSED[4],), **SMALL)
    conclude(folder, now=NOW)

    assert suppose(read_run(folder.path), Asked()).evidence == "REHEARSAL"


def test_invalid_evidence_stays_invalid_under_every_price(tmp_path):
    folder = build_run(tmp_path, (VOID, C), points=(CLOSED[4],), **SMALL)
    conclude(folder, now=NOW)

    found = suppose(read_run(folder.path), Asked(prices={"B": priced(0.01)}))

    assert found.now.of("B").standing == found.then.of("B").standing == "no valid evidence"
    assert any(each.startswith("B has no valid evidence") for each in found.caveats)


def test_a_contradiction_is_carried_to_every_other_load(tmp_path):
    impossible = Made(name="B", facts={"bound_itl_ms": 900.0})
    points = (CLOSED[1], CLOSED[4])
    folder = build_run(tmp_path, (impossible,), points=points, **SMALL)
    conclude(folder, now=NOW)
    run = read_run(folder.path)

    lighter = suppose(run, Asked(point=CLOSED[1])).now.of("B")

    assert run.decision.of("B").standing == lighter.standing == "no valid evidence"


def test_the_bound_of_more_streams_contradicts_no_lighter_load(tmp_path):
    """Of ITL it is one of the batch: eight streams' bound lies above one stream's ITL."""
    bounded = Made(name="B", facts={"bound_itl_ms": 14.0})
    folder = build_run(tmp_path, (bounded,), points=(CLOSED[1], CLOSED[4]), **SMALL)
    conclude(folder, now=NOW)

    found = suppose(read_run(folder.path), Asked(point=CLOSED[1]))

    assert found.then.of("B").standing == found.now.of("B").standing == "complies"


def test_a_price_of_what_was_not_measured_changes_nothing_and_says_so(tmp_path):
    folder = build_run(
        tmp_path, (B, Made(name="A", measured=False, price=4.5)), points=(CLOSED[4],), **SMALL
    )
    conclude(folder, now=NOW)

    found = suppose(read_run(folder.path), Asked(prices={"A": priced(0.1)}))

    assert found.is_changed is False
    assert "A was not measured: its price changes nothing." in found.caveats


@pytest.mark.parametrize(
    ("asked", "standing"),
    [
        ({"itl_ms": 30.0}, "voted out on paper"),  # its bound is 40 ms
        ({"itl_ms": 60.0}, "not measured"),
        ({"itl_ms": None}, "not measured"),
        ({"ttft_ms": 2000.0}, "voted out on paper"),
    ],
)
def test_a_vote_on_paper_stands_only_where_its_bound_exceeds_the_new_limit_too(
    tmp_path, asked, standing
):
    slow = {"verdict": "reject", "reason": "40 ms even at the peak", "bound_itl_ms": 40.0}
    made = (B, Made(name="A", measured=False, price=0.5, facts=slow))
    folder = build_run(tmp_path, made, points=(CLOSED[4],), **SMALL)
    conclude(folder, now=NOW)
    run = read_run(folder.path)

    found = suppose(run, Asked(slo=run.plan.contract.slo.model_copy(update=asked)))

    assert found.then.of("A").standing == "voted out on paper"
    assert found.now.of("A").standing == standing
    told = any("A was voted out on paper under the run's own" in e for e in found.caveats)
    assert told == (standing == "not measured")


@pytest.mark.parametrize(
    ("gate", "wider_limits", "lighter_load", "lower_price"),
    [
        ("support", True, True, True),
        ("memory", True, False, True),
        ("utilisation", True, False, True),
        ("compute", False, True, True),
        ("bandwidth", False, False, True),
        ("economics", True, False, False),
    ],
)
def test_what_is_asked_for_takes_back_only_the_votes_that_rest_on_it(
    run, gate, wider_limits, lighter_load, lower_price
):
    changes = {"verdict": "reject", "measured": False, "bound_itl_ms": None}
    out = run.plan.candidate("C").model_copy(update=changes)
    plan = run.plan.model_copy(update={"candidates": (run.plan.candidate("B"), out)})

    def stands(asked):
        now = supposed_plan(plan, asked, {"C": frozenset({gate})}).candidate("C")
        return now.verdict == "reject"

    assert stands(Asked())
    slo = plan.contract.slo.model_copy(update={"itl_ms": 60.0})
    assert stands(Asked(slo=slo)) == wider_limits
    assert stands(Asked(point=point(run, "closed-1"))) == lighter_load
    assert stands(Asked(prices={"C": priced(0.01)})) == lower_price


def test_a_price_in_another_currency_is_not_converted_and_says_so(run):
    euros = run.plan.candidate("B").price.model_copy(update={"unit": "EUR/h"})

    found = suppose(run, Asked(prices={"B": euros}))

    assert "Prices are in EUR and USD, and amounts are never converted." in found.caveats


def test_nothing_is_written_into_the_run(run):
    before = {path: path.stat().st_mtime_ns for path in run.folder.path.rglob("*")}

    suppose(run, Asked(slo=SloFacts(ttft_ms=500.0), prices={"B": None}, rate_per_s=3.0))

    assert {path: path.stat().st_mtime_ns for path in run.folder.path.rglob("*")} == before


def test_a_rate_finds_the_load_point_of_exactly_that_rate(run):
    assert [each.name for each in points_at(run.summary, 2.0)] == ["poisson-2"]
    assert points_at(run.summary, 2.0001) == ()
