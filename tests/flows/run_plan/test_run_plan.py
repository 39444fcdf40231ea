from __future__ import annotations

import datetime as dt
import hashlib
from pathlib import Path
from typing import Any

import pytest

from catalog.errors import CatalogError
from catalog.load import load_campaign, load_catalog
from deploy_templates.request import Checkpoint
from flows.run_plan import gates_json
from reports.run.plan_file import PriceFacts, RunPlan
from reports.run.read import file_text
from tests.flows.plans import CANONICAL, NOW, campaign_of, plan_of


@pytest.fixture(scope="module")
def canonical() -> RunPlan:
    return plan_of(CANONICAL)


def _one(folder: Path, candidate: dict[str, Any], **asked: Any) -> RunPlan:
    contract = {"model": "meta-llama/Meta-Llama-3-8B-Instruct", "prompt_tokens": 1024}
    path, _ = campaign_of(folder, {"candidates": [candidate], "contract": contract})
    return plan_of(path, **asked)


def test_the_paper_vote_decides_who_is_measured_and_says_why_not(canonical: RunPlan) -> None:
    skipped = {each.name: each.skipped for each in canonical.candidates}

    assert (skipped["B"], skipped["C"]) == (None, None)
    assert skipped["A"] is not None
    assert skipped["A"].startswith(
        "rejected on paper, p95 ITL ≤ 25 ms: 27.41 ms even at the peak"
    )
    assert canonical.candidate("D").measured is False
    assert canonical.candidate("B").ranks == ("primary",)


def test_the_bounds_of_the_gates_at_the_contracts_load_are_kept_in_ms(
    canonical: RunPlan,
) -> None:
    one = canonical.candidate("B")

    assert one.bound_itl_ms == pytest.approx(8.4609, abs=1e-4)
    assert one.bound_ttft_ms == pytest.approx(46.6982, abs=1e-4)


def test_an_offline_contract_has_no_point_at_which_a_bound_would_hold(tmp_path: Path) -> None:
    offline = {"offline": {"tokens_per_hour": "1e6 tok/h"}, "slo": {}, "concurrency": None}
    plan = plan_of(campaign_of(tmp_path, {"contract": offline})[0])

    assert {each.bound_itl_ms for each in plan.candidates} == {None}


def test_the_contract_is_kept_in_ms_per_s_and_shares(canonical: RunPlan) -> None:
    contract = canonical.contract

    assert (contract.slo.ttft_ms, contract.slo.itl_ms) == (1000.0, 25.0)
    assert contract.slo.goodput == 0.95
    assert (contract.prompt_tokens, contract.output_tokens) == ("1024", "128")
    assert contract.quality is not None
    assert contract.quality.margin_points == 1.0


def test_a_price_that_the_campaign_states_is_told_from_one_of_the_catalog(
    canonical: RunPlan, tmp_path: Path
) -> None:
    offered = {"name": "o", "offer": "aws/p4d.24xlarge", "runtime": "vllm"}
    price = _one(tmp_path, offered).candidate("o").price

    assert canonical.candidate("B").price == PriceFacts(
        value=3.67,
        unit="USD/h",
        basis="assumption",
        source="stated in the campaign",
        stated=True,
    )
    assert price is not None
    assert (price.stated, price.stale, price.sold_as) == (False, True, "instance")
    assert price.date == "2026-08-22"


def test_prices_age_with_the_day_of_the_run(tmp_path: Path) -> None:
    offered = {"name": "o", "offer": "aws/p4d.24xlarge", "runtime": "vllm"}
    soon = dt.datetime(2026, 8, 23, tzinfo=dt.UTC)
    price = _one(tmp_path, offered, now=soon).candidate("o").price

    assert price is not None
    assert price.stale is False


def test_candidates_of_one_offer_share_its_machine(tmp_path: Path) -> None:
    twins = [
        {"name": name, "offer": "aws/p4d.24xlarge", "runtime": "vllm", "version": "0.6.3"}
        for name in ("x", "y")
    ]
    path, _ = campaign_of(
        tmp_path, {"candidates": twins, "contract": {"model": "Qwen/Qwen2.5-7B-Instruct"}}
    )
    plan = plan_of(path)

    assert {each.host for each in plan.candidates} == {"aws-p4d.24xlarge"}
    assert {each.host_class for each in plan.candidates} == {"cloud"}


@pytest.mark.parametrize(
    ("place", "host", "kind"),
    [
        ({"host": "local"}, "local", "local"),
        ({"host": "gpu-box"}, "gpu-box", "ssh"),
        ({"device": "nvidia-l4", "device_count": 2}, "2x-nvidia-l4", "cloud"),
    ],
)
def test_a_host_has_the_name_that_files_give_it(
    tmp_path: Path, place: dict[str, Any], host: str, kind: str
) -> None:
    one = _one(
        tmp_path, {"name": "one", "runtime": "vllm_cpu" if "host" in place else "vllm", **place}
    ).candidate("one")

    assert (one.host, one.host_class) == (host, kind)


def test_a_candidate_without_offer_or_host_is_planned_and_said_to_be_nowhere(
    canonical: RunPlan,
) -> None:
    assert any("nothing can be acquired" in each for each in canonical.candidate("B").threats)


def test_an_endpoint_is_measured_as_it_stands_and_uncontrolled(tmp_path: Path) -> None:
    ours = {
        "name": "ours",
        "endpoint": ["https://serving.example.com/v1/completions"],
        "price": "$0.50/Mtok",
        "replicas": 3,
    }
    plan = _one(tmp_path, ours)
    one = plan.candidate("ours")

    assert (one.kind, one.grade, one.host_class) == ("endpoint", "uncontrolled", "endpoint")
    assert (one.measured, one.replicas, one.launch) == (True, 3, None)
    assert one.endpoints == ("https://serving.example.com/v1/completions",)
    assert one.price is not None
    assert (one.price.value, one.price.unit, one.price.stated) == (0.5, "USD/Mtok", True)
    assert any("nothing of it is controlled" in each for each in plan.threats)


def test_what_the_paper_does_not_know_is_measured_only_when_told(tmp_path: Path) -> None:
    path, _ = campaign_of(tmp_path, {"screening": {"unknown": "skip"}})

    assert [each.measured for each in plan_of(path).candidates] == [False, False]
    assert "--include-unknown" in (plan_of(path).candidate("one").skipped or "")
    assert plan_of(path, include_unknown=True).candidate("one").measured
    assert plan_of(campaign_of(tmp_path)[0]).candidate("one").measured


def test_what_is_unlikely_is_measured_only_when_told(tmp_path: Path) -> None:
    l4 = {
        "name": "l4",
        "device": "nvidia-l4",
        "runtime": "vllm",
        "version": "0.6.3",
        "assumptions": {"bandwidth": "100 GB/s"},
    }
    contract = {
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "concurrency": 1,
        "slo": {"ttft": "1000 ms", "itl": "60 ms"},
    }
    path, _ = campaign_of(tmp_path, {"candidates": [l4], "contract": contract})

    assert plan_of(path).candidate("l4").verdict == "unlikely"
    assert not plan_of(path).candidate("l4").measured
    assert plan_of(path, include_unlikely=True).candidate("l4").measured


def test_a_reject_is_never_measured(canonical: RunPlan) -> None:
    told = plan_of(CANONICAL, include_unlikely=True, include_unknown=True)

    assert not told.candidate("A").measured
    assert not told.candidate("D").measured


def test_a_candidate_that_is_voted_out_need_not_be_launchable(tmp_path: Path) -> None:
    odd = {"name": "odd", "device": "intel-xeon-8480plus-2s", "runtime": "vllm"}
    one = {"name": "one", "host": "local", "runtime": "rehearsal"}
    plan = plan_of(campaign_of(tmp_path, {"candidates": [odd, one]})[0])

    assert plan.candidate("odd").measured is False
    assert plan.candidate("odd").launch is None
    assert plan.candidate("one").launch is not None


def test_only_leaves_the_others_out_and_an_unknown_name_is_refused() -> None:
    plan = plan_of(CANONICAL, only=["B"])

    assert [each.name for each in plan.candidates if each.measured] == ["B"]
    assert plan.candidate("C").skipped == "left out by --only"
    with pytest.raises(CatalogError, match="no candidate has this name"):
        plan_of(CANONICAL, only=["b"])


def test_a_rehearsal_plans_every_candidate_on_the_simulated_engine(tmp_path: Path) -> None:
    endpoint = {"name": "ours", "endpoint": ["https://serving.example.com/v1/completions"]}
    slots = {
        "name": "here",
        "host": "local",
        "runtime": "llama_server",
        "precision": "gguf_q8_0",
        "checkpoint": "dummy",
        "settings": {"context_per_slot": 512, "max_sequences": 4, "threads": 1, "port": 9000},
    }
    path, _ = campaign_of(tmp_path, {"candidates": [endpoint, slots]})
    plan = plan_of(path, rehearsal=True)

    assert plan.rehearsal
    assert {(each.runtime, each.kind, each.host) for each in plan.candidates} == {
        ("rehearsal", "launch", "local")
    }
    assert plan.candidate("here").parity == "needs quality proof"
    assert plan_of(CANONICAL, rehearsal=True).candidate("A").skipped is not None


def test_a_simulated_engine_is_planned_for_this_machine_whatever_host_is_stated(
    tmp_path: Path,
) -> None:
    """Two hosts of simulated engines would else be asked for, and both be this machine."""
    simulated = [
        {"name": name, "host": f"ssh:{name}", "runtime": "rehearsal"} for name in ("one", "two")
    ]

    plan = plan_of(campaign_of(tmp_path, {"candidates": simulated})[0])

    assert {(each.host, each.host_class) for each in plan.candidates} == {("local", "local")}
    assert {visit.host for visit in plan.order} == {"local"}


def test_a_simulated_engine_makes_the_whole_plan_a_rehearsal(
    tmp_path: Path, canonical: RunPlan
) -> None:
    assert plan_of(campaign_of(tmp_path)[0]).rehearsal
    assert not canonical.rehearsal


def test_a_prepared_checkpoint_is_the_one_that_is_launched(tmp_path: Path) -> None:
    here = {
        "name": "here",
        "host": "local",
        "runtime": "llama_server",
        "precision": "gguf_q8_0",
        "checkpoint": "dummy",
    }
    path, _ = campaign_of(tmp_path, {"candidates": [here]})
    made = Checkpoint(kind="dummy", location="/cache/tiny/model.gguf", sha256="ab" * 32)
    plan = plan_of(path, checkpoints={"here": made})

    launch = plan.candidate("here").launch
    assert launch is not None
    assert "/cache/tiny/model.gguf" in launch["argv"]
    assert plan.candidate("here").fingerprint != plan_of(path).candidate("here").fingerprint
    assert plan.candidate("here").is_dummy


def test_dummies_mixtures_and_speculation_are_marked(tmp_path: Path) -> None:
    moe = {
        "name": "moe",
        "device": "nvidia-h200-141gb-sxm",
        "runtime": "vllm",
        "checkpoint": "dummy",
        "speculation": {"draft_tokens": 2, "draft_model": "a/draft"},
    }
    path, _ = campaign_of(
        tmp_path, {"candidates": [moe], "contract": {"model": "Qwen/Qwen3-30B-A3B"}}
    )
    one = plan_of(path).candidate("moe")

    assert (one.is_dummy, one.is_moe, one.is_speculative) == (True, True, True)


def test_the_plan_holds_what_it_was_made_from(canonical: RunPlan) -> None:
    assert canonical.campaign_sha256 == hashlib.sha256(CANONICAL.read_bytes()).hexdigest()
    assert len(canonical.catalog_digest) == 64
    assert canonical.created_at == "2026-11-30T12:00:00+00:00"
    assert canonical.question is not None
    assert {need["kind"] for need in canonical.needs} >= {"checkpoint"}
    assert {name for need in canonical.needs for name in need["candidates"]} == {"B", "C"}
    assert canonical.user_entries == ()


def test_a_users_own_entry_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "mine" / "devices"
    folder.mkdir(parents=True)
    source = CANONICAL.parents[1] / "devices" / "nvidia-l4.yaml"
    (folder / "nvidia-l4.yaml").write_text(source.read_text())
    from flows.run_plan import make_run_plan

    folders = (tmp_path / "mine",)
    plan = make_run_plan(
        load_campaign(CANONICAL),
        CANONICAL.read_bytes(),
        load_catalog(folders),
        folders,
        now=NOW,
        run="r",
    )

    assert plan.user_entries == (f"device nvidia-l4 from {tmp_path / 'mine'}",)


def test_equal_inputs_give_the_same_plan_to_the_byte(canonical: RunPlan) -> None:
    again = plan_of(CANONICAL)

    assert file_text(again) == file_text(canonical)
    assert RunPlan.model_validate_json(file_text(canonical)) == canonical


def test_the_gates_are_those_of_screen() -> None:
    gates = gates_json(load_campaign(CANONICAL), load_catalog(()), (), NOW.date())

    assert gates["stamp"] == "ESTIMATE"
    assert [each["verdict"] for each in gates["candidates"]] == [
        "reject",
        "pass",
        "pass",
        "reject",
    ]


def test_a_file_without_candidates_plans_nothing(tmp_path: Path) -> None:
    path, _ = campaign_of(tmp_path, {"candidates": []})

    with pytest.raises(CatalogError, match="the file names none"):
        plan_of(path)
