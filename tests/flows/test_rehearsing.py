"""A rehearsal takes as long as the catalog's physics says, and no longer than it must."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.facts import Facts
from catalog.load import load_campaign, load_catalog
from catalog.resolve import resolve
from deploy_templates.registry import load_runtimes
from flows.calibrate.apply import applied
from flows.foretelling import knowns_of
from flows.launch_plans import launch_of, request_of
from flows.rehearsing import engines, shortened, simulated, step_model
from flows.run_plan import make_run_plan, rehearsed
from tests.catalog.calibration_files import calibration, cpu_device
from tests.flows.plans import campaign_of, plan_of

ROOT = Path(__file__).parents[2]
CANONICAL = ROOT / "catalog" / "campaigns" / "canonical.yaml"
TODAY = dt.datetime(2026, 8, 22, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def cases():
    campaign, catalog = load_campaign(CANONICAL), load_catalog()
    facts = Facts.of(campaign, catalog, load_runtimes(()), TODAY.date())
    return {each.name: resolve(facts, each) for each in campaign.candidates}


def test_a_step_reads_all_weights_at_the_assumed_bandwidth(cases):
    step = step_model(cases["B"])

    assert step.decode_base_ms == pytest.approx(15.0098e9 / 1550e9 * 1e3, rel=1e-4)
    assert step.decode_per_context_token_ms == pytest.approx(131072 / 1550e9 * 1e3, rel=1e-4)
    assert step.prefill_per_token_ms == pytest.approx(16.721e12 / 1024 / 200e12 * 1e3, rel=1e-3)


def test_two_ranks_share_weights_cache_and_arithmetic(cases):
    one, two = step_model(cases["B"]), step_model(cases["C"])

    for name in ("decode_base_ms", "decode_per_context_token_ms", "prefill_per_token_ms"):
        assert getattr(two, name) == pytest.approx(getattr(one, name) / 2)


def test_the_engine_gets_its_physics_under_the_settings_that_its_plan_renders(cases):
    campaign, catalog = rehearsed(load_campaign(CANONICAL)), load_catalog()
    plan = launch_of(request_of(campaign, campaign.candidates[1], catalog))

    finished = simulated("vllm", cases["B"])(plan)

    settings = json.loads(finished.files["settings.json"])
    assert settings["steps"]["decode_base_ms"] == step_model(cases["B"]).decode_base_ms
    assert settings["lifecycle"] == {"while_loading": "refuse"}
    assert settings["engine"]["max_model_len"] == 8192
    assert settings["engine"]["token_budget"] == 2048
    assert settings["model"] == plan.served_model
    assert finished.fingerprint != plan.fingerprint


@pytest.mark.parametrize(
    ("stated", "budget"),
    [({"token_budget": 512}, 512), ({"max_num_seqs": 4096}, 4096), ({"max_num_seqs": 8}, 2048)],
)
def test_a_step_takes_what_is_stated_or_room_for_a_full_batch(cases, stated, budget):
    campaign, catalog = rehearsed(load_campaign(CANONICAL)), load_catalog()
    plan = launch_of(request_of(campaign, campaign.candidates[1], catalog))
    rendered = {**json.loads(plan.files["settings.json"]), "engine": stated}
    changed = replace(plan, files={**plan.files, "settings.json": json.dumps(rendered)})

    settings = json.loads(simulated("vllm", cases["B"])(changed).files["settings.json"])

    assert settings["engine"]["token_budget"] == budget


def test_a_machine_that_the_catalog_does_not_know_has_no_physics():
    campaign, catalog = load_campaign(CANONICAL.with_name("local.yaml")), load_catalog()
    facts = Facts.of(campaign, catalog, load_runtimes(()), TODAY.date())

    assert step_model(resolve(facts, campaign.candidates[0])) is None


def rehearsal_of(file):
    campaign = load_campaign(file)
    plan = make_run_plan(
        campaign, file.read_bytes(), load_catalog(), now=TODAY, run="r", rehearsal=True
    )
    return plan, shortened(plan)


@pytest.mark.parametrize("name", ["canonical.yaml", "local.yaml"])
def test_the_plan_of_a_rehearsal_holds_what_is_launched(name):
    file = CANONICAL.with_name(name)
    stated, catalog = load_campaign(file), load_catalog()
    finish = engines(stated, catalog, load_runtimes(()), TODAY.date())
    _, plan = rehearsal_of(file)

    for candidate in rehearsed(stated).candidates:
        launched = finish[candidate.name](launch_of(request_of(stated, candidate, catalog)))
        facts = plan.candidate(candidate.name)
        assert facts.fingerprint == launched.fingerprint
        assert facts.launch["files"]["settings.json"] == launched.files["settings.json"]


def test_a_simulation_without_being_asked_for_is_planned_as_it_is_launched(tmp_path):
    path, stated = campaign_of(tmp_path)
    catalog = load_catalog()
    finish = engines(stated, catalog, load_runtimes(()), TODAY.date())

    for candidate in rehearsed(stated).candidates:
        launched = finish[candidate.name](launch_of(request_of(stated, candidate, catalog)))
        assert plan_of(path).candidate(candidate.name).fingerprint == launched.fingerprint


def test_a_calibration_of_this_machine_moves_no_engine_of_a_rehearsal():
    file = CANONICAL.with_name("local.yaml")
    stated, catalog = load_campaign(file), load_catalog()
    here = cpu_device(1e11, {"fp32": 1e12}, core_bandwidth=1e11, core_compute={"fp32": 1e12})
    disturbed = calibration(here, disturbances=("others",), exploratory=True)
    found = applied(stated, catalog, (disturbed,))
    runtimes = load_runtimes(())
    known = Facts.of(stated, found.catalog, runtimes, TODAY.date())
    plans = [
        make_run_plan(stated, file.read_bytes(), each, now=TODAY, run="r", rehearsal=True)
        for each in (catalog, found.catalog)
    ]
    before, after = ([each.fingerprint for each in plan.candidates] for plan in plans)
    priors = [
        each.prior for each in knowns_of(stated, found.catalog, runtimes, plans[1]).values()
    ]

    assert step_model(resolve(known, stated.candidates[0])) is not None
    assert before == after
    assert priors == [None] * len(stated.candidates)


def test_a_rehearsal_has_twenty_requests_and_three_launches():
    whole, short = rehearsal_of(CANONICAL)

    assert (short.matrix.requests, short.matrix.replications) == (20, 3)
    assert short.matrix.decision_duration_s is None
    assert len(short.order) == 3 * 2
    assert sum(i.high_s for i in short.estimate) < sum(i.high_s for i in whole.estimate) / 5


def test_a_rehearsal_keeps_the_contracts_own_load_and_the_highest_of_each_kind():
    _, short = rehearsal_of(CANONICAL)

    names = [each.name for each in short.matrix.load_points]
    assert names == ["closed-16", "closed-32", "poisson-8"]
    assert {name for visit in short.order for name in visit.load_points} == set(names)


def test_a_rehearsal_leaves_the_first_wave_of_the_contracts_streams_to_the_warm_up():
    _, short = rehearsal_of(CANONICAL)

    assert (short.matrix.warmup, short.matrix.warmup_requests) == ("fixed", 16)


def test_a_job_without_a_load_of_its_own_is_rehearsed_at_every_load():
    whole, short = rehearsal_of(CANONICAL.with_name("offline_cpu.yaml"))

    assert short.matrix.load_points == whole.matrix.load_points
    assert short.matrix.warmup_requests == 2
