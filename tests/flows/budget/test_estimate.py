from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.load import load_catalog
from flows.budget import billing_of, estimate, money_not_spent, sharing, totals
from flows.budget.billing import BILLING, UNKNOWN, Billing
from flows.budget.times import cell, download, request, start, warm_up
from flows.calibrate.apply import applied
from flows.run_plan import make_run_plan
from reports.run.plan_file import EstimateItem, RunPlan
from tests.catalog.calibration_files import calibration, cpu_device
from tests.flows.plans import CANONICAL, NOW, campaign_of, plan_of

LLAMA = "meta-llama/Meta-Llama-3-8B-Instruct"


@pytest.fixture(scope="module")
def canonical() -> RunPlan:
    return plan_of(CANONICAL)


def _offered(folder: Path, count: int, **changes: Any) -> RunPlan:
    names = ["x", "y", "z"][:count]
    twins = [
        {"name": name, "offer": "aws/p4de.24xlarge", "runtime": "vllm", "version": "0.6.3"}
        for name in names
    ]
    contract = {"model": LLAMA, "prompt_tokens": 1024, "output_tokens": 128, "concurrency": 16}
    path, _ = campaign_of(folder, {"candidates": twins, "contract": contract, **changes})
    return plan_of(path)


def _item(items: tuple[EstimateItem, ...], host: str, what: str) -> EstimateItem:
    return next(each for each in items if each.host == host and what in each.what)


def test_every_item_is_from_low_to_high(canonical: RunPlan) -> None:
    for each in canonical.estimate:
        assert 0 <= each.low_s <= each.high_s
        assert each.low_usd is not None
        assert each.high_usd is not None
        assert 0 <= each.low_usd <= each.high_usd


def test_the_estimate_names_every_kind_of_step(tmp_path: Path) -> None:
    kinds = ("boot", "install vllm 0.6.3", "download", "launches", "warm-up", "cells")
    plan = _offered(tmp_path, 1)

    for kind in (*kinds, "collect and release", "disk", "traffic"):
        assert any(kind in each.what for each in plan.estimate), kind


def test_looks_at_clocks_and_the_winners_repetition_are_paid_for_at_the_high_end(
    canonical: RunPlan,
) -> None:
    host, matrix = "nvidia-a100-80gb-sxm4", canonical.matrix
    facts, point = canonical.candidate("B"), canonical.load_point(matrix.decision_point)
    once = start(facts) + warm_up(canonical, facts, point) + cell(canonical, facts, point)

    look = _item(canonical.estimate, host, "B: a look at the clocks")
    again = _item(canonical.estimate, host, "the winner again at production clocks")

    assert (look.low_s, look.high_s) == (0, pytest.approx(once.high))
    assert (again.low_s, again.high_s) == (0, pytest.approx(once.high * matrix.replications))
    assert look.high_usd == pytest.approx(once.high * 3.67 / 3600)


@pytest.mark.parametrize("device", ["intel-xeon-8480plus-2s", None])
def test_where_no_clocks_are_locked_none_are_looked_at(tmp_path: Path, device) -> None:
    one = {"name": "x", "host": "local", "runtime": "llama_server", "checkpoint": "dummy"}
    path, _ = campaign_of(
        tmp_path, {"candidates": [{**one, "device": device} if device else one]}
    )

    assert not [each for each in plan_of(path).estimate if "clocks" in each.what]


def test_a_rehearsal_looks_at_no_clocks() -> None:
    plan = plan_of(CANONICAL, rehearsal=True)

    assert not [each for each in plan.estimate if "clocks" in each.what]


def _calibration(plan: RunPlan) -> list[tuple[str, float, float]]:
    found = [each for each in plan.estimate if each.what == "calibrate"]
    return [(each.host, each.low_s, each.high_s) for each in found]


def test_a_campaign_that_calibrates_measures_each_machine_before_it_installs(
    tmp_path: Path,
) -> None:
    plan = _offered(tmp_path, 2, calibrate=True)
    steps = [each.what for each in plan.estimate]

    assert _calibration(plan) == [("aws-p4de.24xlarge", 25, 300 + 8 * 120)]  # all its GPUs
    assert steps[:3] == ["boot", "calibrate", "install vllm 0.6.3"]


def test_an_exploratory_campaign_calibrates_briefly(tmp_path: Path) -> None:
    plan = _offered(tmp_path, 1, calibrate=True, exploratory=True)

    assert _calibration(plan) == [("aws-p4de.24xlarge", 5, 60 + 8 * 30)]


def test_processors_alone_are_calibrated_and_a_service_is_not(tmp_path: Path) -> None:
    here = {"name": "here", "host": "local", "runtime": "llama_server", "checkpoint": "dummy"}
    ours = {"name": "ours", "endpoint": ["https://serving.example.com/v1/completions"]}
    changes = {"candidates": [here, ours], "calibrate": True}

    assert _calibration(plan_of(campaign_of(tmp_path, changes)[0])) == [("local", 25, 300)]


def test_neither_a_rehearsal_nor_a_campaign_that_does_not_ask_calibrates(
    tmp_path: Path, canonical: RunPlan
) -> None:
    simulated = campaign_of(tmp_path, {"calibrate": True})[0]

    for plan in (canonical, plan_of(simulated), plan_of(simulated, rehearsal=True)):
        assert _calibration(plan) == []


def test_this_machines_own_calibration_is_taken_where_it_is_at_hand(tmp_path: Path) -> None:
    here = {"name": "one", "host": "local", "runtime": "llama_server", "checkpoint": "dummy"}
    path, campaign = campaign_of(tmp_path, {"candidates": [here], "calibrate": True})
    found = applied(campaign, load_catalog(()), (calibration(cpu_device(1e9)),))

    plan = make_run_plan(campaign, path.read_bytes(), found.catalog, now=NOW, run="planned")

    assert _calibration(plan) == []


def test_a_download_is_by_the_size_of_the_weights(canonical: RunPlan) -> None:
    item = _item(canonical.estimate, "nvidia-a100-80gb-sxm4", "download")

    assert item.what == "download weights, bfloat16, 16.1 GB"
    assert item.low_s == pytest.approx(16.0605, abs=1e-3)  # at 1 GB/s


@pytest.mark.parametrize(
    ("host_class", "checkpoint", "per_byte"),
    [
        ("cloud", "hub", (1e-9, 10e-9)),
        ("local", "dummy", (1e-9, 10e-9)),
        ("cloud", "dummy", (9e-9, 90e-9)),
        ("ssh", "dummy", (1e-9, 90e-9)),  # an earlier campaign may have copied it
        ("cloud", "/weights/a", (8e-9, 80e-9)),
        ("local", "/weights/a", (0, 0)),
    ],
)
def test_weights_that_are_made_or_lie_here_are_copied_to_machines_elsewhere(
    canonical: RunPlan, host_class, checkpoint, per_byte
) -> None:
    changed = {"host_class": host_class, "checkpoint": checkpoint, "weight_bytes": 10**9}
    found = download(canonical.candidate("B").model_copy(update=changed))

    assert (found.low, found.high) == pytest.approx([each * 1e9 for each in per_byte])


def test_money_is_price_times_machine_time(canonical: RunPlan) -> None:
    item = _item(canonical.estimate, "nvidia-a100-80gb-sxm4", "B: 5 launches")

    assert item.low_usd == pytest.approx(item.low_s * 3.67 / 3600)
    assert item.high_usd == pytest.approx(item.high_s * 3.67 / 3600)


def test_the_sum_counts_every_started_billing_unit(canonical: RunPlan) -> None:
    """Nobody has said how a machine without an offer is billed: started hours it is."""
    host = [each for each in canonical.estimate if each.host == "nvidia-a100-80gb-sxm4"]
    seconds = sum(each.high_s for each in host)
    beside = sum(
        each.high_usd or 0 for each in host if each.what.startswith(("disk", "traffic"))
    )

    assert sum(each.high_usd or 0 for each in host) - beside == pytest.approx(
        -(-seconds // 3600) * 3.67
    )


def test_an_unknown_price_makes_the_sum_unknown_and_never_zero(tmp_path: Path) -> None:
    here = {"name": "here", "host": "local", "runtime": "vllm_cpu"}
    plan = plan_of(campaign_of(tmp_path, {"candidates": [here]})[0])

    assert plan.estimate
    assert {each.low_usd for each in plan.estimate} == {None}
    assert totals(plan.estimate).usd is None
    assert totals(plan.estimate).machine_s.low > 0


def test_a_rehearsal_rents_nothing_and_installs_nothing(tmp_path: Path) -> None:
    plan = plan_of(CANONICAL, rehearsal=True)
    usd = totals(plan.estimate).usd

    assert usd is not None
    assert (usd.low, usd.high) == (0.0, 0.0)
    assert not any(
        each.what.startswith(("boot", "install", "download")) for each in plan.estimate
    )


def test_a_simulated_engine_does_not_make_the_real_ones_free(tmp_path: Path) -> None:
    both = [
        {"name": "real", "host": "local", "runtime": "vllm_cpu"},
        {"name": "sim", "host": "local", "runtime": "rehearsal"},
    ]
    plan = plan_of(campaign_of(tmp_path, {"candidates": both})[0])

    assert plan.rehearsal
    assert totals(plan.estimate).usd is None
    assert any(each.what.startswith("install vllm_cpu") for each in plan.estimate)
    assert not any("install rehearsal" in each.what for each in plan.estimate)


def test_hosts_work_at_the_same_time(canonical: RunPlan) -> None:
    found = totals(canonical.estimate)

    assert found.wall_s.high < found.machine_s.high


def test_the_low_end_skips_levels_above_a_miss_after_the_first_launch(
    canonical: RunPlan,
) -> None:
    one = canonical.candidate("B")
    point = canonical.load_point
    item = _item(canonical.estimate, one.host, "B: 40 cells")
    every = sum(
        cell(canonical, one, point(name)).low
        for visit in canonical.order
        if visit.candidate == "B"
        for name in visit.load_points
    )
    above = sum(cell(canonical, one, point(name)).low for name in ("closed-24", "closed-32"))

    assert item.low_s == pytest.approx(every - 4 * above)


def test_a_request_takes_from_its_bound_to_its_limit(canonical: RunPlan) -> None:
    found = request(canonical, canonical.candidate("B"))

    assert found.low == pytest.approx((46.698 + 127 * 8.46087) / 1e3, abs=1e-4)
    assert found.high == pytest.approx((1000 + 127 * 25) / 1e3)


def test_a_cell_by_time_takes_that_time(canonical: RunPlan) -> None:
    found = cell(canonical, canonical.candidate("B"), canonical.load_point("closed-16"))

    assert found.low >= 600.0


def test_an_open_cell_takes_as_long_as_its_requests_come(canonical: RunPlan) -> None:
    point = canonical.load_point("poisson-8")

    assert cell(canonical, canonical.candidate("B"), point).low >= 200 / 8
    assert warm_up(canonical, canonical.candidate("B"), point).low == pytest.approx(30 / 8)


def test_a_launch_takes_no_longer_than_it_is_waited_for(canonical: RunPlan) -> None:
    one = canonical.candidate("B")
    launch = {**(one.launch or {}), "readiness": {"limit_s": 5.0}}

    assert start(one.model_copy(update={"launch": launch})).high == pytest.approx(5.0 + 15.0)


def test_a_guess_is_called_one(tmp_path: Path) -> None:
    contract = {"slo": {"ttft": None, "itl": None}}
    plan = plan_of(campaign_of(tmp_path, {"contract": contract})[0])

    assert any("a guess: no bound, no limit" in each.what for each in plan.estimate)


def test_a_search_is_estimated_with_the_proof_that_follows_it(tmp_path: Path) -> None:
    plan = plan_of(campaign_of(tmp_path, {"matrix": {"rates": "search"}})[0])
    item = _item(plan.estimate, "local", "one: rate search and its proof")

    assert item.low_s > 2 * 3 * 600  # both ends of the bracket in every replication


def test_a_service_that_is_paid_by_the_token_costs_its_tokens(tmp_path: Path) -> None:
    ours = {
        "name": "ours",
        "endpoint": ["https://serving.example.com/v1/completions"],
        "price": "$2/Mtok",
    }
    plan = plan_of(campaign_of(tmp_path, {"candidates": [ours]})[0])
    cells = _item(plan.estimate, "endpoint-ours", "9 cells")

    assert cells.low_usd == pytest.approx(9 * 200 * 16 / 1e6 * 2)
    assert not any("launches" in each.what for each in plan.estimate)


def test_what_the_paper_vote_kept_out_is_money_not_spent(canonical: RunPlan) -> None:
    found = canonical.money_not_spent

    assert found is not None
    assert (found.unit, found.basis) == ("USD", "assumption")
    assert found.value == found.low
    assert found.low is not None
    assert found.high is not None
    assert 0 < found.low < found.high
    only_rejects = canonical.model_copy(
        update={"candidates": tuple(each for each in canonical.candidates if each.skipped)}
    )
    assert money_not_spent(only_rejects) == found


def test_nobody_kept_out_is_no_money_saved(tmp_path: Path) -> None:
    assert plan_of(campaign_of(tmp_path)[0]).money_not_spent is None


def test_candidates_that_share_a_machine_pay_its_start_once(tmp_path: Path) -> None:
    (found,) = sharing(_offered(tmp_path, 3))

    assert found.candidates == ("x", "y", "z")
    assert found.saved_s.low >= 2 * (60 + 10)
    assert found.saved_usd is not None
    assert found.saved_usd.low > 0
    assert sharing(_offered(tmp_path, 1)) == ()


def test_sharing_costs_less_than_machines_apart(tmp_path: Path) -> None:
    shared = totals(_offered(tmp_path, 2).estimate).usd
    alone = totals(_offered(tmp_path, 1).estimate).usd

    assert shared is not None
    assert alone is not None
    assert shared.high < 2 * alone.high


def test_a_started_minute_is_the_least_of_a_cloud_and_an_unknown_one_bills_hours() -> None:
    aws = billing_of("cloud", "aws/p4de.24xlarge")

    assert [aws.billed_s(seconds) for seconds in (0, 1, 60, 60.2)] == [0, 60, 60, 61]
    assert billing_of("cloud", "nobody/x") is UNKNOWN
    assert billing_of("cloud", None) is UNKNOWN
    assert UNKNOWN.billed_s(3601) == 7200
    assert billing_of("local", None).billed_s(1.5) == 2
    assert all(each.source for each in BILLING.values())


@given(unit=st.floats(0.5, 3600), least=st.floats(0, 3600), seconds=st.floats(0.01, 1e6))
def test_what_is_billed_is_never_less_than_what_was_used(
    unit: float, least: float, seconds: float
) -> None:
    billing = Billing(unit_s=unit, least_s=least, source="x")

    billed = billing.billed_s(seconds)
    assert billed >= seconds * (1 - 1e-9) - 1e-6
    assert billed <= max(least, seconds + unit * (1 + 1e-6))


def test_an_estimate_is_that_of_its_plan(canonical: RunPlan) -> None:
    assert estimate(canonical) == canonical.estimate
