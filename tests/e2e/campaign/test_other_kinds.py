"""Services that run already, rehearsals of machines that nobody can rent, another engine."""

from __future__ import annotations

import json

import pytest

from flows.rehearsal import IdentitySettings, Settings, StepModel, start
from tests.e2e.campaign.conftest import CONTRACT, descendants_left, events, kept, llama, planned

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("prefect")]
VERDICTS = (0, 4, 5, 7)


def test_a_service_is_measured_as_it_stands_and_its_addresses_share_the_load(folder):
    steps = StepModel(decode_base_ms=1.0, prefill_base_ms=1.0)
    secret = IdentitySettings(api_key="sesame-17")
    with (
        start(Settings(steps=steps, model="tiny-llama-19m", identity=secret)) as one,
        start(Settings(steps=steps, model="tiny-llama-19m", identity=secret)) as other,
    ):
        urls = [f"{each.url}/v1/completions" for each in (one, other)]
        service = {"name": "ours", "endpoint": urls, "price": "$1/h", "api_key_env": "OUR_KEY"}
        file = folder.campaign([service], matrix={"requests": 30})
        folder.environment = {**folder.environment, "OUR_KEY": "sesame-17"}

        done = folder.compare(file)

        truths = [each.truth() for each in (one, other)]
    run = folder.run
    assert done.code in VERDICTS, done.err
    assert kept(run) == planned(run)
    assert run.plan.candidate("ours").grade == "uncontrolled"
    assert not events(run, "launching", "acquiring")
    assert all(len(truth.requests) > 20 for truth in truths)
    assert "sesame-17" not in done.err + done.out
    leaked = [
        p for p in run.folder.path.rglob("*") if p.is_file() and b"sesame" in p.read_bytes()
    ]
    assert leaked == []


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
