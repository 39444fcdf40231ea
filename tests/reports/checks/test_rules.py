"""Every evidence check passes on an honest run and fails on the fault that it is for."""

from __future__ import annotations

import copy
import datetime as dt
from dataclasses import replace

import pytest

from reports.checks import Evidence, all_rules, checks_of
from reports.gathered import gathered
from reports.run.plan_file import QualityFacts
from reports.run.read import read_run
from reports.summary import summary_of
from tests.reports.run.builder import CONTRACT, NOW, Made, build_run, priced

POINT = "closed-4"
ELSEWHERE = {"clocks"}  # judged from telemetry, and tested beside it


@pytest.fixture(scope="module")
def honest(tmp_path_factory) -> Evidence:
    run = read_run(build_run(tmp_path_factory.mktemp("run")).path)
    files = gathered(run)
    return Evidence(files=files, summary=summary_of(run, files), today=NOW.date())


def of(evidence, rule):
    return list(all_rules()[rule](evidence))


def with_cell(evidence, edit, *, name="B", point=POINT):
    """The evidence with one cell's summary changed."""
    candidates = []
    for found in evidence.summary.candidates:
        cells = tuple(
            edit(cell) if (found.name, cell.load_point) == (name, point) else cell
            for cell in found.cells
        )
        candidates.append(found.model_copy(update={"cells": cells}))
    summary = evidence.summary.model_copy(update={"candidates": tuple(candidates)})
    return replace(evidence, summary=summary)


def with_document(evidence, edit):
    """The evidence with one replication's document changed in place by ``edit``."""

    def cell(found):
        first = found.replications[0]
        document = copy.deepcopy(first.document)
        edit(document)
        changed = first.model_copy(update={"document": document})
        return found.model_copy(update={"replications": (changed, *found.replications[1:])})

    return with_cell(evidence, cell)


def with_problem(concern):
    def edit(document):
        document["problem_details"].append(
            {"problem": concern, "seen": "it was seen", "matters": "", "do": ""}
        )

    return lambda evidence: with_document(evidence, edit)


def with_files(evidence, **changes):
    return replace(evidence, files=replace(evidence.files, **changes))


def with_plan(evidence, **changes):
    return with_files(evidence, plan=evidence.files.plan.model_copy(update=changes))


def with_facts(evidence, **changes):
    plan = evidence.files.plan
    return with_plan(
        evidence,
        candidates=tuple(
            each.model_copy(update=changes) if each.name == "B" else each
            for each in plan.candidates
        ),
    )


def with_cell_file(evidence, **changes):
    """The first replication's cell.json changed."""
    first, *rest = evidence.files.replications
    measured = replace(first.measured, file=first.measured.file.model_copy(update=changes))
    return with_files(evidence, replications=(replace(first, measured=measured), *rest))


def with_server(evidence, factor):
    first, *rest = evidence.files.replications
    server = copy.deepcopy(first.server)
    server["servers"][0]["counted"]["generation_tokens"]["value"] *= factor
    return with_files(evidence, replications=(replace(first, server=server), *rest))


def with_launch(evidence, **changes):
    found = evidence.summary.candidate("B")
    first, *rest = found.launches
    launches = (first.model_copy(update=changes), *rest)
    candidates = tuple(
        each.model_copy(update={"launches": launches}) if each.name == "B" else each
        for each in evidence.summary.candidates
    )
    summary = evidence.summary.model_copy(update={"candidates": candidates})
    return replace(evidence, summary=summary)


def without_replications(cell):
    return cell.model_copy(update={"replications": cell.replications[:2]})


def short(document):
    document["window_s"] = 60.0


def few_sent(cell):
    return cell.model_copy(update={"requests": cell.requests | {"sent": 1}})


def unequal_little(document):
    document["little"]["mean_in_flight"] *= 1.01


def goodput_that_depends(cell):
    other = cell.goodput["max_gap"].model_copy(update={"verdict": "misses"})
    return cell.model_copy(update={"goodput": cell.goodput | {"max_gap": other}})


def natural(evidence):
    def double(document):
        document["lengths"]["output"]["seen"]["mean"] *= 2

    def cell(found):
        replications = []
        for each in found.replications:
            document = copy.deepcopy(each.document)
            double(document)
            replications.append(each.model_copy(update={"document": document}))
        return found.model_copy(update={"replications": tuple(replications)})

    contract = CONTRACT.model_copy(update={"output": "natural"})
    return with_cell(with_plan(evidence, contract=contract), cell)


def with_quality(evidence, verdict):
    wanted = QualityFacts(reference="bfloat16", margin_points=1.0)
    contract = CONTRACT.model_copy(update={"quality": wanted})
    changed = with_plan(evidence, contract=contract)
    candidates = tuple(
        each.model_copy(update={"quality": None if verdict is None else {"verdict": verdict}})
        for each in changed.summary.candidates
    )
    summary = changed.summary.model_copy(update={"candidates": candidates})
    return replace(changed, summary=summary)


FAULTS = {
    "campaign_complete": lambda e: with_files(e, replications=e.files.replications[1:]),
    "client_health": with_problem("send lag"),
    "contract_unchanged": lambda e: with_files(e, campaign_sha256="0" * 64),
    "contradiction": lambda e: with_facts(e, bound_itl_ms=20.0),
    "enough_launches": lambda e: with_cell(e, without_replications),
    "enough_requests": lambda e: with_document(e, short),
    "files_unchanged": lambda e: with_files(
        e, replications=(replace(e.files.replications[0], strays=("0.parquet",)),)
    ),
    "foreign_load": lambda e: with_cell_file(e, foreign={"foreign_share": 0.3, "cpus": 8}),
    "itl_observable": with_problem("ITL not observable here"),
    "launch_as_planned": lambda e: with_launch(e, differences=("max_model_len: …",)),
    "launches_came_up": lambda e: with_launch(e, state="failed", error="out of memory"),
    "littles_law": lambda e: with_document(e, unequal_little),
    "natural_lengths": natural,
    "offered_load": with_problem("rate not achieved"),
    "output_lengths": with_problem("output length missed"),
    "prefix_hits": with_problem("prompts were cached"),
    "price": lambda e: with_facts(e, price=priced(3.67, stated=False, date="2026-01-01")),
    "prompt_lengths": with_problem("prompt length missed"),
    "quality": lambda e: with_quality(e, "misses"),
    "real_weights": lambda e: with_facts(e, is_dummy=True, is_moe=True),
    "request_sums": lambda e: with_cell(e, few_sent),
    "same_client": lambda e: with_plan(
        with_cell_file(e, load_host="elsewhere"), load_from="here"
    ),
    "same_seeds": lambda e: with_cell_file(e, seed=1),
    "server_counters": lambda e: with_server(e, 0.9),
    "statistic_decides": lambda e: with_cell(e, goodput_that_depends),
    "steady": with_problem("trend"),
    "token_counts": with_problem("token counts disagree"),
    "warm_up": with_problem("first wave included"),
}
NEVER_FAIL = {"sold_whole"}  # it knows or does not know


def test_every_rule_has_a_fault_of_its_own():
    assert set(all_rules()) == {*FAULTS, *NEVER_FAIL, *ELSEWHERE}


@pytest.mark.parametrize("rule", sorted(set(all_rules()) - ELSEWHERE))
def test_an_honest_run_fails_no_check(honest, rule):
    assert {check.verdict for check in of(honest, rule)} <= {"pass", "not applicable"}


@pytest.mark.parametrize("rule", sorted(FAULTS))
def test_the_fault_fails_its_check_and_is_named(honest, rule):
    faulty = FAULTS[rule](honest)

    failed = [check for check in of(faulty, rule) if check.verdict == "fail"]
    assert failed
    assert all(check.observed and check.needed for check in failed)


@pytest.mark.parametrize("rule", sorted(set(FAULTS) - {"campaign_complete", "quality"}))
def test_the_fault_fails_no_check_where_it_is_not(honest, rule):
    """One cell or candidate at most fails, not all of them."""
    before, after = of(honest, rule), of(FAULTS[rule](honest), rule)

    assert sum(check.verdict == "fail" for check in after) <= max(1, len(before) // 2)


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("campaign_complete", " replication 0"),
        ("client_health", "replication 0: it was seen"),
        ("foreign_load", "replication 0: others used"),
        ("launches_came_up", "launch 0 failed"),
        ("same_seeds", "replication 0"),
    ],
)
def test_a_replication_and_a_launch_are_named_by_the_number_of_their_files(honest, rule, words):
    failed = [check for check in of(FAULTS[rule](honest), rule) if check.verdict == "fail"]

    assert any(words in check.observed for check in failed), failed


def test_launches_that_are_alike_and_not_the_plans_are_told_apart_from_the_plan(honest):
    launches = [
        each.model_copy(update={"fingerprint": "a" * 64})
        for each in honest.summary.candidate("B").launches
    ]
    candidates = tuple(
        each.model_copy(update={"launches": tuple(launches)}) if each.name == "B" else each
        for each in honest.summary.candidates
    )
    summary = honest.summary.model_copy(update={"candidates": candidates})
    planned = honest.files.plan.candidate("B").fingerprint[:8]

    found = next(
        each
        for each in of(replace(honest, summary=summary), "launch_as_planned")
        if each.candidate == "B"
    )

    assert (found.verdict, found.observed) == (
        "fail",
        f"launched as aaaaaaaa, planned as {planned}",
    )


def test_names_of_checks_are_unique(honest):
    names = [check.name for check in checks_of(honest).checks]

    assert len(names) == len(set(names))


def test_quality_that_was_not_measured_is_unknown_and_decides(honest):
    found = of(with_quality(honest, None), "quality")

    assert {check.verdict for check in found} == {"unknown"}
    assert {check.observed for check in found} == {"quality not measured"}
    assert all(check.decisive for check in found)


def test_quality_that_holds_passes(honest):
    assert {check.verdict for check in of(with_quality(honest, "holds"), "quality")} == {"pass"}


@pytest.mark.parametrize("rule", ["enough_launches", "enough_requests"])
def test_too_little_is_no_failure_where_the_campaign_is_exploratory(honest, rule):
    found = of(FAULTS[rule](with_plan(honest, exploratory=True)), rule)

    assert "not applicable" in {check.verdict for check in found}
    assert "fail" not in {check.verdict for check in found}


def test_dummy_weights_of_a_dense_model_show_its_speed_where_no_more_is_asked_for(honest):
    quality = QualityFacts(reference="bfloat16")
    asked = honest.files.plan.contract.model_copy(update={"quality": quality})
    dummy = with_facts(honest, is_dummy=True)
    (fine,) = [check for check in of(dummy, "real_weights") if check.candidate == "B"]

    assert fine.verdict == "pass"
    assert "speed" in fine.observed
    for spoilt in (
        with_plan(dummy, contract=asked),
        with_facts(dummy, is_moe=True),
        with_facts(dummy, is_speculative=True),
    ):
        (found,) = [check for check in of(spoilt, "real_weights") if check.candidate == "B"]
        assert (found.verdict, found.waivable) == ("fail", False)


def test_experts_on_random_tokens_cannot_stand_for_real_traffic(honest):
    found = of(with_facts(honest, is_moe=True), "real_weights")

    assert [check.verdict for check in found if check.candidate == "B"] == ["fail"]
    assert not any(check.waivable for check in found)


def test_a_missing_price_is_unknown_and_not_zero(honest):
    found = of(with_facts(honest, price=None), "price")

    assert [check.verdict for check in found if check.candidate == "B"] == ["unknown"]


def test_a_price_goes_stale_with_the_day_of_the_judgement(honest):
    fresh = with_facts(honest, price=priced(3.67, stated=False, date="2026-08-01"))
    later = replace(fresh, today=dt.date(2026, 12, 1))

    assert [c.verdict for c in of(fresh, "price") if c.candidate == "B"] == ["pass"]
    assert [c.verdict for c in of(later, "price") if c.candidate == "B"] == ["fail"]


@pytest.mark.parametrize(
    ("price", "verdict"),
    [
        (priced(30.0, stated=False, sold_as="instance"), "pass"),
        (priced(3.67, stated=False, sold_as="share"), "pass"),
        (priced(3.67, stated=True, sold_as="instance"), "unknown"),
    ],
)
def test_a_share_is_priced_as_one_only_where_shares_are_sold(honest, price, verdict):
    found = of(with_facts(honest, offer="aws/p4de.24xlarge", price=price), "sold_whole")

    assert [check.verdict for check in found if check.candidate == "B"] == [verdict]


def test_a_simulation_has_no_physics_to_contradict(tmp_path):
    run = read_run(
        build_run(
            tmp_path,
            [Made(facts={"bound_itl_ms": 500.0})],
            rehearsal=True,
            requests=60,
            duration_s=20,
        ).path
    )
    files = gathered(run)
    evidence = Evidence(files=files, summary=summary_of(run, files), today=NOW.date())

    assert {check.verdict for check in of(evidence, "contradiction")} == {"not applicable"}


def test_a_cell_skipped_for_a_stated_reason_is_not_missing(honest):
    missing = FAULTS["campaign_complete"](honest)
    gone = honest.files.replications[0]
    line = {
        "event": "skipped",
        "candidate": gone.candidate,
        "load_point": gone.load_point,
        "replication": gone.number,
    }
    told = with_files(missing, ledger=(*missing.files.ledger, line))

    assert {check.verdict for check in of(told, "campaign_complete")} == {"pass"}
