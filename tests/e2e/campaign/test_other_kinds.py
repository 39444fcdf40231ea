"""Services that run already, rehearsals of machines that nobody can rent, another engine."""

from __future__ import annotations

import json
from dataclasses import dataclass

import pytest

from flows.cli import run as runoff
from flows.rehearsal import IdentitySettings, Settings, StepModel, StreamShape, start
from reports.run.read import Run
from tests.e2e.campaign.conftest import (
    CONTRACT,
    Ended,
    descendants_left,
    events,
    folder_at,
    kept,
    llama,
    planned,
)

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("campaigns")]
VERDICTS = (0, 4, 5, 7)


@dataclass(frozen=True)
class Served:
    """A campaign over two services that were there already, and what they saw."""

    done: Ended
    run: Run
    requests: list[int]
    processes: list[str]


@pytest.fixture(scope="module")
def served(tmp_path_factory, home, prefect_url):
    """Two chat services that think before they answer share a load that its cap holds back."""
    steps = StepModel(decode_base_ms=1.0, prefill_base_ms=1.0)
    secret = IdentitySettings(api_key="sesame-17")
    settings = Settings(
        steps=steps,
        model="tiny-llama-19m",
        identity=secret,
        stream=StreamShape(reasoning_tokens=4),
    )
    contract = {
        **CONTRACT,
        "rate": "400/s",
        "slo": {"ttft": "2000 ms", "ttft_counts": "answer_token", "itl": "500 ms"},
    }
    more = {"PREFECT_API_URL": prefect_url, "OUR_KEY": "sesame-17"}
    with (
        folder_at(tmp_path_factory.mktemp("served"), home, **more) as folder,
        start(settings) as one,
        start(settings) as other,
    ):
        urls = [f"{each.url}/v1/chat/completions" for each in (one, other)]
        service = {"name": "ours", "endpoint": urls, "price": "$1/h", "api_key_env": "OUR_KEY"}
        done = folder.compare(
            folder.campaign([service], contract=contract, matrix={"requests": 50})
        )
        yield Served(
            done,
            folder.run,
            [len(each.truth().requests) for each in (one, other)],
            descendants_left(folder.started),
        )


def test_a_service_is_measured_as_it_stands_and_its_addresses_share_the_load(served):
    done, run = served.done, served.run

    assert done.code in VERDICTS, done.err
    assert kept(run) == planned(run)
    assert run.plan.candidate("ours").grade == "uncontrolled"
    assert not events(run, "launching", "acquiring")
    assert all(count > 20 for count in served.requests)
    assert served.processes == []


def test_a_key_of_a_service_is_nowhere_in_the_run(served):
    run = served.run

    assert "sesame-17" not in served.done.err + served.done.out
    leaked = [
        p for p in run.folder.path.rglob("*") if p.is_file() and b"sesame" in p.read_bytes()
    ]
    assert leaked == []


def test_a_limit_on_the_answer_s_first_token_is_judged_by_ttfa(served):
    cell = served.run.summary.candidate("ours").cell("poisson-400-cap2")
    clause = cell.clauses["ttft"]

    assert clause.statistic == "p95 TTFA"
    assert clause.limit == 2000.0
    # four tokens of thought come before it
    assert clause.number.value > cell.measures["ttft_p95_ms"].value + 3


def test_a_rate_that_waits_for_the_cap_is_told_and_proves_nothing(served):
    run = served.run
    place = run.decision.of("ours")
    cell = run.summary.candidate("ours").cell(place.decision_point)

    assert cell.point.max_in_flight == 2
    assert "cap bound" in cell.problems
    assert cell.verdict in ("cap-bound", "client-bound")  # by the machine's load
    assert place.standing in ("inconclusive", "no valid evidence")
    assert place.limiter.what in ("cap", "client")


def test_a_real_campaign_s_directory_passes_check_until_a_bit_of_it_changes(served, capsys):
    run = served.run

    checked = runoff(["check", str(run.folder.path), "--json"])

    rows = json.loads(capsys.readouterr().out)["rows"]
    failed = [row for row in rows if row["verdict"] == "fail" and row["id"] != "evidence"]
    assert failed == []
    assert {row["id"] for row in rows if row["verdict"] == "pass"} >= {
        *("manifest", "files", "cells", "contract", "conclusion", "pages"),
    }
    assert checked == (7 if any(row["verdict"] == "fail" for row in rows) else 0)

    plan = run.folder.file("plan.json")
    plan.write_bytes(plan.read_bytes().replace(b'"value": 1.0', b'"value": 0.1'))
    assert runoff(["check", str(run.folder.path)]) == 7
    assert "plan.json" in capsys.readouterr().out


def test_a_rehearsal_decides_between_machines_that_nobody_here_can_rent(folder):
    canonical = {
        **CONTRACT,
        "model": "meta-llama/Meta-Llama-3-8B-Instruct",
        "precision": {"weights": "bfloat16", "kv_cache": "bfloat16"},
        "prompt_tokens": 64,
        "output_tokens": 8,
        "slo": {"ttft": "1000 ms", "itl": "25 ms", "goodput": "50%"},
    }
    gpu = {"device": "nvidia-a100-80gb-sxm4", "runtime": "vllm", "version": "0.6.3"}
    settings = {"max_model_len": 8192}
    one = {"name": "B", **gpu, "settings": settings, "assumptions": {"price": "$3.67/h"}}
    two = {
        **one,
        "name": "C",
        "device_count": 2,
        "tensor_parallel": 2,
        "link": "nvlink3",
        "assumptions": {"price": "$7.34/h"},
    }
    file = folder.campaign(
        [one, two],
        contract=canonical,
        matrix={"requests": 500, "replications": 5, "warmup_requests": 50},
    )

    done = folder.compare(file, "--rehearse", "--json")

    run = folder.run
    document = json.loads(done.out)
    assert done.code in VERDICTS, done.err
    assert kept(run) == planned(run)
    assert len(kept(run)) == 2 * 3
    assert document["decision"]["stamp"] == "REHEARSAL"
    assert {each.file.basis for each in run.cells} == {"simulation"}
    launches = [each for each in run.checks.checks if each.id == "launch-as-planned"]
    assert [each.verdict for each in launches] == ["pass", "pass"]
    assert {each.host for each in run.plan.candidates} == {"local"}
    tpot = {
        name: run.summary.candidate(name).cells[0].measures["tpot_p50_ms"].value
        for name in ("B", "C")
    }
    assert tpot["B"] > 9.6  # 15 GB at 1550 GB/s
    assert 4.8 < tpot["C"] < tpot["B"]
    assert not descendants_left(folder.started)


def test_vllm_and_llama_server_are_held_to_one_contract(folder, vllm_python):
    vllm = {
        "name": "vllm",
        "host": "local",
        "runtime": "vllm_cpu",
        "checkpoint": "dummy",
        "settings": {
            "max_model_len": 256,
            "max_sequences": 2,
            "kv_cache_gib": 0.25,
            "eager": True,
            "threads": 1,
            "programs": {"python": vllm_python},
        },
        "assumptions": {"price": "$0.10/h"},
    }
    bf16 = {**CONTRACT, "precision": {"weights": "bfloat16", "kv_cache": "bfloat16"}}
    file = folder.campaign([vllm, llama("llama")], contract=bf16, matrix={"replications": 1})

    done = folder.compare(file)

    run = folder.run
    assert done.code in VERDICTS, done.err
    assert kept(run) == planned(run)
    assert {run.plan.candidate(name).runtime for name, _, _ in kept(run)} == {
        "vllm_cpu",
        "llama_server",
    }
    assert not descendants_left(folder.started)
