from __future__ import annotations

from typing import Any

import pytest

from catalog.errors import CatalogError
from catalog.load import load_catalog
from catalog.schema import Campaign
from deploy_templates.candidate import launch_request
from deploy_templates.render import render
from deploy_templates.request import LaunchRequest
from deploy_templates.runtime_folder import load_runtime_folder

CATALOG = load_catalog()
FOLDERS = {name: load_runtime_folder(name) for name in ("vllm", "llama_server", "rehearsal")}


def campaign(
    contract: dict | None = None, top: dict | None = None, **candidate: Any
) -> Campaign:
    stated = {"name": "B", "device": "nvidia-a100-80gb-sxm4", "runtime": "vllm"} | candidate
    return Campaign.model_validate(
        {
            "schema_version": 1,
            "name": "x",
            "contract": {
                "model": "meta-llama/Meta-Llama-3-8B-Instruct",
                "prompt_tokens": 1000,
                "output_tokens": 100,
                "concurrency": 16,
                **(contract or {}),
            },
            "candidates": [stated],
            **(top or {}),
        }
    )


def request_of(stated: Campaign, local_class: str = "cpu-x86") -> LaunchRequest:
    candidate = stated.candidates[0]
    folder = FOLDERS[candidate.runtime or ""]
    return launch_request(stated, candidate, CATALOG, folder, local_class=local_class)


def test_the_contract_says_the_formats_the_seed_and_whether_prompts_share_a_prefix() -> None:
    asked = request_of(campaign({"cached_prefix_tokens": 512})).variables

    assert (asked.weights, asked.kv_cache, asked.seed) == ("bfloat16", "bfloat16", 42)
    assert asked.prefix_caching is True
    assert request_of(campaign()).variables.prefix_caching is False


def test_settings_are_taken_by_our_names_and_by_the_engines_own() -> None:
    ours = campaign(settings={"memory_utilisation": 0.85, "max_sequences": 64})
    theirs = campaign(settings={"gpu_memory_utilization": 0.85, "max_num_seqs": 64})

    assert request_of(ours).variables == request_of(theirs).variables


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"max_sequence": 4}, "Did you mean 'max_sequences'"),
        ({"max_sequences": "4"}, r"settings\.max_sequences: '4' does not do"),
        ({"seed": True}, r"settings\.seed: True does not do"),
        ({"memory_utilisation": 90}, r"settings\.memory_utilisation: 90 does not do"),
        ({"max_model_len": -1}, r"settings\.max_model_len: -1 does not do"),
        ({"max_sequences": 0}, r"settings\.max_sequences: 0 does not do"),
        ({"kv_cache_gib": 0}, r"settings\.kv_cache_gib: 0 does not do"),
        ({"cpus": "0,1"}, r"settings\.cpus: '0,1' does not do"),
        ({"mode": "magic"}, r"settings\.mode"),
        ({"form": "magic"}, "no form 'magic'"),
        ({"tensor_parallel": 2}, "Write tensor_parallel: at the candidate"),
        ({"weights": "fp8"}, "Write precision: at the candidate"),
        ({"max_num_seqs": 4, "max_sequences": 4}, "stated twice"),
        ({"mode": "process"}, "Its modes are venv, container"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused_with_what_to_write(
    settings: dict, said: str
) -> None:
    with pytest.raises(CatalogError, match=said):
        request_of(campaign(settings=settings))


def test_a_precision_takes_the_checkpoint_that_the_catalog_lists_for_it() -> None:
    listed = {each.precision: each.name for each in CATALOG.model("llama-3-8b").checkpoints}

    assert request_of(campaign()).model == listed["bfloat16"]
    assert request_of(campaign()).variables.quantization is None


def test_fp8_without_a_checkpoint_is_quantised_on_loading() -> None:
    model = next(
        name
        for name, entry in CATALOG.models.items()
        if {each.precision for each in entry.checkpoints} == {"bfloat16"}
    )
    stated = campaign({"model": model}, precision="fp8")

    assert request_of(stated).variables.quantization == "fp8"
    with pytest.raises(CatalogError, match=r"no checkpoint of .* in awq_int4"):
        request_of(campaign({"model": model}, precision="awq_int4"))
    path = campaign({"model": model}, precision="awq_int4", checkpoint="/m")
    assert request_of(path).checkpoint.location == "/m"


def test_an_engine_with_slots_gets_one_for_every_stream_of_the_campaign() -> None:
    stated = campaign(device=None, host="local", runtime="llama_server", checkpoint="dummy")
    asked = request_of(stated)

    assert asked.variables.max_sequences == 32
    assert asked.variables.max_model_len == 1280
    assert asked.device_class == "cpu-x86"
    assert asked.checkpoint.location == "checkpoint.gguf"


def test_a_stated_context_per_slot_takes_the_place_of_the_implied_length() -> None:
    stated = campaign(
        device=None,
        host="local",
        runtime="llama_server",
        checkpoint="/m.gguf",
        settings={"context_per_slot": 2048, "max_sequences": 4},
    )
    plan = render(request_of(stated), FOLDERS["llama_server"])

    assert plan.controlled["context_per_slot"].rendered == ("--ctx-size", "8192")


def test_a_gpu_gets_a_form_that_computes_on_it() -> None:
    stated = campaign(runtime="llama_server", checkpoint="/m.gguf")

    assert request_of(stated).device_class == "cuda"
    assert request_of(stated).variant == "binary"


def test_an_image_of_the_candidates_own_is_started_as_a_container() -> None:
    assert request_of(campaign(image="site/vllm:1")).mode == "container"


def test_an_older_release_takes_the_first_form_that_it_has() -> None:
    stated = campaign(
        device=None,
        host="local",
        runtime="llama_server",
        checkpoint="/m.gguf",
        version="b11434",
    )

    assert request_of(stated).variant == "binary"


def test_degrees_offload_and_speculation_reach_the_engine() -> None:
    stated = campaign(
        device_count=4,
        tensor_parallel=2,
        pipeline_parallel=2,
        offload="8 GiB",
        speculation={"draft_tokens": 3, "draft_model": "org/draft"},
    )
    plan = render(request_of(stated), FOLDERS["vllm"])

    assert plan.controlled["pipeline_parallel"].rendered == ("--pipeline-parallel-size", "2")
    assert plan.controlled["offload_gib"].rendered == ("--cpu-offload-gb", "8.0")
    assert "org/draft" in plan.controlled["draft_model"].rendered[1]


@pytest.mark.parametrize("degree", ["sequence_parallel", "context_parallel"])
def test_a_degree_that_no_runtime_takes_is_not_dropped(degree: str) -> None:
    with pytest.raises(CatalogError, match=f"{degree}: no runtime"):
        request_of(campaign(**{degree: 2}))


def test_a_closed_site_is_the_campaigns() -> None:
    top = {"offline": True, "mirrors": {"package_index": "/srv/wheels", "hub": "/srv/models"}}
    asked = request_of(campaign(top=top))
    plan = render(asked, FOLDERS["vllm"])

    assert plan.argv[4] == "/srv/models/meta-llama/Meta-Llama-3-8B-Instruct"
    assert plan.env["HF_HUB_OFFLINE"] == "1"
    assert "PIP_NO_INDEX=1" in plan.install.script
    bare = {"offline": True, "mirrors": {"package_index": "/srv/wheels"}}
    unserved = request_of(campaign(top=bare))
    with pytest.raises(CatalogError, match=r"mirrors\.hub"):
        render(unserved, FOLDERS["vllm"])
