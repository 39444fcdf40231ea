from __future__ import annotations

import json
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from catalog.errors import CatalogError
from deploy_templates.plan import read_plan
from deploy_templates.render import render
from deploy_templates.request import Checkpoint, LaunchRequest, Mirrors, Variables
from deploy_templates.runtime_folder import load_runtime_folder

LLAMA = load_runtime_folder("llama_server")
REHEARSAL = load_runtime_folder("rehearsal")
VLLM = load_runtime_folder("vllm")
CLOUD = LaunchRequest(
    name="B", runtime="vllm", version="0.33.0", mode="venv", model="org/model", port=8000
)
HERE = LaunchRequest(
    name="here",
    runtime="llama_server",
    version="b11434",
    mode="process",
    model="tiny-llama-19m",
    port=8080,
    device_class="cpu-x86",
    checkpoint=Checkpoint(kind="path", location="/models/tiny.gguf", sha256="0" * 64),
    variables=Variables(max_model_len=512, max_sequences=4, seed=7, prefix_caching=False),
)


def test_a_slot_takes_its_share_of_the_whole_context() -> None:
    plan = render(HERE, LLAMA)

    assert plan.controlled["max_model_len"].rendered == ("--ctx-size", "2048")
    assert plan.controlled["max_sequences"].rendered == ("--parallel", "4", "--no-kv-unified")
    assert plan.controlled["max_model_len"].read_back is not None


def test_the_same_request_gives_the_same_bytes() -> None:
    assert (
        render(HERE, LLAMA).text() == render(HERE, load_runtime_folder("llama_server")).text()
    )


def test_a_rendered_plan_reads_back() -> None:
    plan = render(HERE, LLAMA)

    assert read_plan(plan.text(), "plan.json") == plan


def test_the_embedded_server_is_the_default_of_its_own_environment() -> None:
    plan = render(replace(HERE, version="b11549", mode="venv"), LLAMA)

    assert plan.form == "embedded"
    assert plan.argv[:2] == ("venv/bin/python", "xllamacpp_server.py")
    assert "xllamacpp_server.py" in plan.files


def test_a_form_that_a_release_lacks_is_refused_with_its_reason() -> None:
    with pytest.raises(CatalogError, match="b11549 has no form 'built'"):
        render(replace(HERE, version="b11549", mode="venv", variant="built"), LLAMA)


@pytest.mark.parametrize("form", ["embedded", "built"])
def test_a_build_for_cpus_is_not_started_for_a_gpu(form: str) -> None:
    version = {"embedded": "b11549", "built": "b11434"}[form]
    stated = replace(HERE, version=version, mode="venv", device_class="cuda")
    for request in (replace(stated, variant=form), stated):
        with pytest.raises(CatalogError, match="on cuda"):
            render(request, LLAMA)

    image = render(replace(stated, mode="container"), LLAMA)
    assert f"ghcr.io/ggml-org/llama.cpp:server-cuda-{version}" in image.argv


def test_a_program_of_the_host_is_called_where_it_lies() -> None:
    plan = render(replace(HERE, programs={"llama-server": "/opt/llama-server"}), LLAMA)

    assert plan.argv[0] == "/opt/llama-server"


def test_settings_of_the_simulated_engine_go_into_its_file() -> None:
    request = replace(
        HERE,
        runtime="rehearsal",
        version="1",
        variables=Variables(max_model_len=4096, chunked_prefill=False, draft_tokens=2),
    )
    settings = json.loads(render(request, REHEARSAL).files["settings.json"])

    assert settings["engine"] == {
        "max_model_len": 4096,
        "scheduler": "prefill_first",
        "tokens_per_step": 3,
    }
    assert settings["model"] == "tiny-llama-19m"


def test_only_the_rehearsal_engines_plan_says_simulation() -> None:
    request = replace(HERE, runtime="rehearsal", version="1", variables=Variables())

    assert render(request, REHEARSAL).simulation
    assert not render(HERE, LLAMA).simulation


def test_what_an_engine_cannot_do_ends_with_its_reason() -> None:
    request = replace(HERE, variables=Variables(tensor_parallel=2))

    with pytest.raises(CatalogError, match=r"'here', tensor_parallel: llama_server: 2 cannot"):
        render(request, LLAMA)


def test_what_an_engine_passes_over_is_a_threat_with_its_reason() -> None:
    plan = render(replace(HERE, variables=Variables(memory_utilisation=0.9)), LLAMA)

    assert plan.controlled["memory_utilisation"].how == "threat"
    assert any("memory_utilisation 0.9 was asked, but" in threat for threat in plan.threats)


def test_a_variable_that_needs_another_says_so() -> None:
    with pytest.raises(CatalogError, match="512 needs max_sequences as well"):
        render(replace(HERE, variables=Variables(max_model_len=512)), LLAMA)


def test_an_unasked_variable_that_is_not_reported_is_a_threat() -> None:
    plan = render(replace(HERE, variables=Variables()), LLAMA)

    assert plan.controlled["seed"].how == "engine default"
    assert not [threat for threat in plan.threats if threat.startswith("seed")]
    assert plan.controlled["threads"].read_back is not None


@pytest.mark.parametrize(
    ("arguments", "owner"),
    [
        (("--ctx-size", "4096"), "max_model_len"),
        (("--ctx-size=4096",), "max_model_len"),
        (("-c", "4096"), "max_model_len"),
        (("--ctx_size", "1"), "max_model_len"),
        (("-np", "2"), "max_sequences"),
        (("--cache-prompt",), "prefix_caching"),
        (("--no-cache-prompt",), "prefix_caching"),
        (("-t2",), "threads"),
    ],
)
def test_an_argument_for_a_controlled_variable_is_refused(
    arguments: tuple[str, ...], owner: str
) -> None:
    with pytest.raises(CatalogError, match=rf"extra_args.*settings: \{{{owner}: …\}}"):
        render(replace(HERE, extra_args=arguments), LLAMA)


@pytest.mark.parametrize(
    "argument", ["--port", "--host=0.0.0.0", "--metrics", "-m", "--gpt-oss-20b-default"]
)
def test_an_argument_that_the_launch_itself_sets_is_refused(argument: str) -> None:
    with pytest.raises(CatalogError, match="is set by the launch"):
        render(replace(HERE, extra_args=(argument,)), LLAMA)


def test_a_managed_variable_of_the_environment_is_refused() -> None:
    with pytest.raises(CatalogError, match="LLAMA_ARG_CTX_SIZE is set by the launch"):
        render(replace(HERE, extra_env={"LLAMA_ARG_CTX_SIZE": "64"}), LLAMA)


@pytest.mark.parametrize("name", ["LD_PRELOAD=x", "A$(id)", "", "ONE TWO", "9A"])
def test_what_is_no_name_of_the_environment_is_refused(name: str) -> None:
    with pytest.raises(CatalogError, match="is no name of the environment"):
        render(replace(HERE, extra_env={name: "1"}), LLAMA)


def test_a_text_that_no_process_can_be_given_is_refused() -> None:
    with pytest.raises(CatalogError, match="extra_args, 1: it holds a NUL"):
        render(replace(HERE, extra_args=("--poll", "0\0")), LLAMA)


@pytest.mark.parametrize(
    "text",
    [
        "hf_" + "a1" * 17,
        "sk-proj-" + "Ab9_" * 8,
        "ghp_" + "x" * 36,
        "AKIA" + "Q" * 16,
        "https://me:hush@site.example/x",
    ],
)
def test_a_value_that_looks_like_a_secret_is_not_written_into_a_plan(text: str) -> None:
    for change in ({"extra_args": ("--note", text)}, {"extra_env": {"NOTE": text}}):
        with pytest.raises(CatalogError, match="looks like a secret") as caught:
            render(replace(HERE, **change), LLAMA)

        assert text not in str(caught.value)


@pytest.mark.parametrize("name", ["HF_TOKEN", "MY_SECRET", "SERVICE_API_KEY", "OPENAI_KEY"])
def test_a_secret_is_not_written_into_a_plan(name: str) -> None:
    with pytest.raises(CatalogError, match="would be written into the plan") as caught:
        render(replace(HERE, extra_env={name: "hush"}), LLAMA)

    assert "hush" not in str(caught.value)


def test_a_key_among_the_arguments_is_refused() -> None:
    with pytest.raises(CatalogError, match="would be written into the plan"):
        render(replace(HERE, extra_args=("--api-key", "hush")), LLAMA)


def test_own_arguments_go_through_verbatim_and_are_shown() -> None:
    plan = render(replace(HERE, extra_args=("--poll", "0"), extra_env={"GGML_X": "a b"}), LLAMA)

    assert plan.argv[-2:] == ("--poll", "0")
    assert plan.env["GGML_X"] == "a b"
    assert plan.unmanaged.extra_args == ("--poll", "0")
    assert any("not managed by runoff" in threat for threat in plan.threats)


def test_a_planted_command_stays_one_word(tmp_path: Path) -> None:
    planted = 'x\'; rm -rf "$HOME" #`touch broken`'
    request = replace(
        HERE,
        served_model=planted,
        programs={"llama-server": "/bin/echo"},
        extra_env={"NOTE": "$(touch broken)"},
    )
    plan = render(request, LLAMA)
    (tmp_path / "serve.sh").write_text(plan.files["serve.sh"])
    said = subprocess.run(
        ["sh", "serve.sh"], cwd=tmp_path, capture_output=True, text=True, check=True
    )

    assert planted in plan.argv
    assert shlex.quote(planted) in plan.files["serve.sh"]
    assert planted in said.stdout
    assert [path.name for path in tmp_path.iterdir()] == ["serve.sh"]


def test_cores_bind_the_server_to_themselves() -> None:
    plan = render(replace(HERE, cpus=(0, 2)), LLAMA)

    assert plan.argv[:4] == ("taskset", "--cpu-list", "0,2", "llama-server")


def test_in_an_image_the_weights_are_mounted_and_the_port_is_on_loopback_only() -> None:
    plan = render(replace(HERE, mode="container", cpus=(1,)), LLAMA)
    line = " ".join(plan.argv)

    assert "--publish 127.0.0.1:8080:8080" in line
    assert "--cpuset-cpus 1" in line
    assert "--volume /models/tiny.gguf:/model/tiny.gguf:ro" in line
    assert "llama.cpp:server-b11434 --model /model/tiny.gguf" in line
    assert plan.cleanup == ("docker", "rm", "--force", "runoff-here-8080")


def test_a_digest_that_nobody_knows_yet_is_said_to_be_recorded_at_the_pull() -> None:
    needs = render(replace(HERE, mode="container"), LLAMA).needs

    assert needs[0].digest is None
    assert needs[0].reason == "digest resolved at pull and recorded"


def test_a_site_without_network_names_its_own_copies() -> None:
    request = replace(HERE, version="b11549", mode="venv", offline=True)

    with pytest.raises(CatalogError, match=r"offline: true, but .*Give mirrors.package_index"):
        render(request, LLAMA)
    plan = render(replace(request, mirrors=Mirrors(package_index="/srv/wheels")), LLAMA)

    assert "PIP_NO_INDEX=1 PIP_FIND_LINKS=/srv/wheels" in plan.install.script


def test_a_site_without_network_reaches_no_other_address() -> None:
    request = replace(HERE, offline=True)
    for extra in ("--proxy=https://elsewhere.example/x", "https://elsewhere.example"):
        with pytest.raises(CatalogError, match=r"https://elsewhere\.example"):
            render(replace(request, extra_args=("--look-up", extra)), LLAMA)

    assert render(replace(request, extra_args=("--look-up", "http://127.0.0.1:1")), LLAMA)


def test_a_site_without_network_fetches_no_draft_model_either() -> None:
    weights = Checkpoint(kind="path", location="/models/m", sha256="0" * 64)
    mirrors = Mirrors(package_index="/srv/wheels")
    request = replace(CLOUD, checkpoint=weights, offline=True, mirrors=mirrors)
    draft = Variables(draft_model="org/draft", draft_tokens=3)

    assert render(request, VLLM).env["HF_HUB_OFFLINE"] == "1"
    with pytest.raises(CatalogError, match=r"default address would be needed.*mirrors\.hub"):
        render(replace(request, variables=draft), VLLM)
    lying = render(replace(request, variables=replace(draft, draft_model="/d/draft")), VLLM)
    assert not [need for need in lying.needs if need.reason == "model hub"]


def test_a_draft_model_by_name_is_fetched_though_the_weights_lie_here() -> None:
    weights = Checkpoint(kind="path", location="/models/m", sha256="0" * 64)
    variables = Variables(draft_model="org/draft", draft_tokens=3)
    plan = render(replace(CLOUD, checkpoint=weights, variables=variables), VLLM)

    assert "HF_HUB_OFFLINE" not in plan.env
    assert [need.reason for need in plan.needs if need.kind == "address"][-1] == "model hub"


def test_an_engine_that_loads_files_refuses_a_draft_model_by_name() -> None:
    draft = replace(HERE.variables, draft_model="org/draft", draft_tokens=3)

    with pytest.raises(
        CatalogError, match=r"'org/draft' from nowhere\. Give the path of a \.gguf"
    ):
        render(replace(HERE, variables=draft), LLAMA)


def test_an_image_of_another_registry_of_similar_name_is_another_registry() -> None:
    mirrors = Mirrors(registry="registry.site")
    request = replace(HERE, mode="container", offline=True, mirrors=mirrors)

    assert render(replace(request, image="registry.site/own:1"), LLAMA)
    with pytest.raises(CatalogError, match=r"is not under registry\.site"):
        render(replace(request, image="registry.site.elsewhere.example/own:1"), LLAMA)


def test_a_mirror_of_the_registry_stands_in_front_of_the_image() -> None:
    request = replace(HERE, mode="container", mirrors=Mirrors(registry="registry.site/mirror"))
    plan = render(request, LLAMA)

    assert "registry.site/mirror/ggml-org/llama.cpp:server-b11434" in plan.argv
    assert plan.needs[-1].name == "registry.site/mirror"


def test_the_wait_for_readiness_grows_with_the_weights() -> None:
    small, large = (
        render(replace(HERE, weight_bytes=gib * 2**30), LLAMA).readiness.limit_s
        for gib in (0, 16)
    )

    assert (small, large) == (60.0, 380.0)
