"""A measured launch is deployed word for word, and secrets are only referred to."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from catalog.errors import CatalogError
from catalog.load import load_campaign, load_catalog
from deploy_templates.candidate import launch_request
from deploy_templates.deployments import deployed, ways
from deploy_templates.deployments.container_words import container_run
from deploy_templates.deployments.deployment import Deployment
from deploy_templates.plan import LaunchPlan
from deploy_templates.render import render
from deploy_templates.runtime_folder import load_runtime_folder

CAMPAIGN = """
schema_version: 1
name: deployed
contract:
  model: meta-llama/Meta-Llama-3-8B-Instruct
  prompt_tokens: 1024
  output_tokens: 128
  concurrency: 16
  slo: {ttft: 1000 ms, itl: 25 ms}
candidates:
  - name: B.venv
    device: nvidia-h100-80gb-sxm5
    runtime: vllm
    settings: {cpus: [0, 1]}
    extra_env: {VLLM_NOTE: 'a "b" $HOME 100% c'}
  - name: Box_1
    device: nvidia-h100-80gb-sxm5
    device_count: 2
    tensor_parallel: 2
    runtime: vllm
    settings: {mode: container, cpus: [0, 1, 2, 3]}
    extra_env: {VLLM_NOTE: 'a "b" $HOME 100% c'}
  - name: trt
    device: nvidia-h100-80gb-sxm5
    runtime: tensorrt_llm
    settings: {mode: container}
"""
DIGEST = "sha256:" + "ab12" * 16


@pytest.fixture(scope="module")
def plans(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LaunchPlan]:
    path = tmp_path_factory.mktemp("campaign") / "deployed.yaml"
    path.write_text(CAMPAIGN)
    campaign, catalog = load_campaign(path), load_catalog()
    made = {}
    for candidate in campaign.candidates:
        runtime = load_runtime_folder(candidate.runtime or "")
        request = launch_request(campaign, candidate, catalog, runtime, local_class="cpu-x86")
        made[candidate.name] = render(request, runtime)
    return made


def deployment(plan: LaunchPlan, **changes: Any) -> Deployment:
    return replace(
        Deployment(plan=plan, evidence="runs/x, manifest 12ab", devices=2), **changes
    )


def words_of(text: str, *, dollar: str = "$$") -> list[str]:
    """The words of a line as systemd takes them apart (systemd.syntax, systemd.service)."""
    words = []
    for quoted, plain in re.findall(r'"((?:[^"\\]|\\.)*)"|(\S+)', text, flags=re.DOTALL):
        word = re.sub(r"\\(x[0-9a-f]{2}|.)", _unescaped, quoted or plain, flags=re.DOTALL)
        words.append(word.replace("%%", "%").replace(dollar, "$"))
    return words


def _unescaped(found: re.Match[str]) -> str:
    escape = found[1]
    if escape[0] == "x" and len(escape) == 3:
        return chr(int(escape[1:], 16))
    return {"n": "\n", "t": "\t"}.get(escape, escape)


def setting(unit: str, name: str) -> str:
    return next(line for line in unit.splitlines() if line.startswith(f"{name}=")).split(
        "=", 1
    )[1]


def test_the_ways_are_found_by_scanning() -> None:
    assert ways() == ("compose", "kubernetes", "systemd")


def test_another_way_is_refused_with_those_that_there_are(plans) -> None:
    with pytest.raises(CatalogError, match="there is no way 'nomad'"):
        deployed("nomad", deployment(plans["trt"]))


@pytest.mark.parametrize("way", ways())
def test_no_file_holds_the_value_of_a_secret_and_each_names_the_evidence(plans, way) -> None:
    made = deployed(way, deployment(plans["Box_1"]))

    first = next(iter(made.values()))
    assert "runs/x, manifest 12ab" in first
    assert plans["Box_1"].fingerprint in first
    assert all("HF_TOKEN=" not in text for text in made.values())


def test_a_unit_starts_the_measured_words_in_the_measured_environment(plans) -> None:
    plan = plans["B.venv"]
    unit = deployed("systemd", deployment(plan))["runoff-b-venv.service"]

    started = words_of(setting(unit, "ExecStart"))
    program = "/opt/runoff/runoff-b-venv/venv/bin/python"
    assert started == [program if word == "venv/bin/python" else word for word in plan.argv]
    given = [
        words_of(line.partition("=")[2], dollar="\0")
        for line in unit.splitlines()
        if line.startswith("Environment=")
    ]
    assert sorted(word for (word,) in given) == sorted(f"{k}={v}" for k, v in plan.env.items())
    assert setting(unit, "EnvironmentFile") == "-/etc/runoff/runoff-b-venv.env"
    assert setting(unit, "KillSignal") == plan.stop.signal
    assert int(setting(unit, "TimeoutStartSec")) >= plan.readiness.limit_s
    assert started[:3] == ["taskset", "--cpu-list", "0,1"]


def test_a_unit_brings_the_files_of_the_launch_and_its_installation(plans) -> None:
    plan = plans["B.venv"]
    made = deployed("systemd", deployment(plan))

    assert made["runoff-b-venv/install.sh"] == plan.install.script
    assert {f"runoff-b-venv/{path}" for path in plan.files} < set(made)


def test_a_unit_says_what_the_launch_saw_of_its_callers_environment(plans) -> None:
    unit = deployed("systemd", deployment(plans["B.venv"]))["runoff-b-venv.service"]

    (line,) = [line for line in unit.splitlines() if line.startswith("# Of the caller's")]
    assert [name for name in plans["B.venv"].inherit_env if name not in line] == []


def test_cores_that_the_plan_does_not_name_are_held_by_the_unit(plans) -> None:
    plan = replace(plans["B.venv"], argv=plans["B.venv"].argv[3:])
    unit = deployed("systemd", deployment(plan, cpus=(2, 3)))["runoff-b-venv.service"]

    assert setting(unit, "CPUAffinity") == "2 3"


def test_a_container_is_held_to_its_cores_in_every_way(plans) -> None:
    held = deployment(plans["trt"], cpus=(4, 5))

    unit = deployed("systemd", held)["runoff-trt.service"]
    assert words_of(setting(unit, "ExecStart"))[:4] == ["docker", "run", "--cpuset-cpus", "4,5"]
    assert "CPUAffinity" not in unit
    compose = yaml.safe_load(deployed("compose", held)["compose.yaml"])
    assert compose["services"]["server"]["cpuset"] == "4,5"
    pod = objects(plans["trt"], cpus=(4, 5))["Deployment"]["spec"]["template"]["spec"]
    assert pod["containers"][0]["resources"]["limits"]["cpu"] == 2


def test_systemd_itself_takes_the_unit(plans, tmp_path: Path) -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        missing = pytest.fail if os.environ.get("RUNOFF_REQUIRE_ALL") else pytest.skip
        missing("no systemd-analyze: install Debian's package systemd")
    name = "runoff-b-venv"
    unit = deployed("systemd", deployment(plans["B.venv"]))[f"{name}.service"]
    python = tmp_path / "opt" / "venv" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    path = tmp_path / f"{name}.service"
    path.write_text(unit.replace(f"/opt/runoff/{name}", str(tmp_path / "opt")))

    done = subprocess.run(
        [program, "verify", "--man=no", str(path)], capture_output=True, text=True, check=False
    )

    assert [line for line in done.stderr.splitlines() if name in line] == []


@given(
    st.lists(
        st.text(st.characters(codec="ascii", exclude_characters="\0\r\v\f\x1c\x1d\x1e\x85")),
        min_size=1,
    )
)
def test_any_words_come_back_from_a_unit_as_they_are(words: list[str]) -> None:
    from deploy_templates.deployments.systemd import _quoted

    assert words_of(" ".join(map(_quoted, words))) == words


def test_a_compose_file_starts_the_measured_image_and_words(plans) -> None:
    plan = plans["Box_1"]
    text = deployed("compose", deployment(plan, image_digest=DIGEST))["compose.yaml"]
    service = yaml.safe_load(text)["services"]["server"]

    assert service["image"] == f"vllm/vllm-openai:v{plan.version}@{DIGEST}"
    image = plan.argv.index(f"vllm/vllm-openai:v{plan.version}")
    assert service["command"] == list(plan.argv[image + 1 :])
    assert service["entrypoint"] == ["python3"]
    assert service["environment"]["HF_TOKEN"] is None
    assert service["environment"]["VLLM_NOTE"] == 'a "b" $$HOME 100% c'
    assert service["ports"] == ["127.0.0.1:8000:8000"]
    assert (service["cpuset"], service["ipc"]) == ("0,1,2,3", "host")
    (gpus,) = service["deploy"]["resources"]["reservations"]["devices"]
    assert gpus == {"driver": "nvidia", "count": "all", "capabilities": ["gpu"]}
    assert "/health" in service["healthcheck"]["test"][1]
    assert service["volumes"] == ["runoff-hub:/hub"]
    assert yaml.safe_load(text)["volumes"] == {"runoff-hub": {"name": "runoff-hub"}}


def test_named_gpus_and_limits_of_the_system_stay_as_they_were(plans) -> None:
    argv = tuple('"device=2,3"' if word == "all" else word for word in plans["trt"].argv)
    text = deployed("compose", deployment(replace(plans["trt"], argv=argv)))["compose.yaml"]
    service = yaml.safe_load(text)["services"]["server"]

    (gpus,) = service["deploy"]["resources"]["reservations"]["devices"]
    assert gpus["device_ids"] == ["2", "3"]
    assert service["ulimits"] == {"memlock": -1, "stack": 67108864}


def test_a_mounted_file_of_the_plan_is_written_beside_the_compose_file(plans) -> None:
    plan = plans["trt"]
    made = deployed("compose", deployment(plan))

    assert made["config.yml"] == plan.files["config.yml"]
    mounts = yaml.safe_load(made["compose.yaml"])["services"]["server"]["volumes"]
    assert "./config.yml:/runoff/config.yml:ro" in mounts


def objects(plan: LaunchPlan, **changes: Any) -> dict[str, Any]:
    made = deployed("kubernetes", deployment(plan, **changes))
    (text,) = made.values()
    return {each["kind"]: each for each in yaml.safe_load_all(text)}


def test_kubernetes_starts_the_measured_image_and_words(plans) -> None:
    plan = plans["Box_1"]
    found = objects(plan, image_digest=DIGEST)
    pod = found["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]

    assert container["image"].endswith(f"@{DIGEST}")
    assert container["args"] == list(plan.argv[plan.argv.index("-m") :])
    assert container["command"] == ["python3"]
    env = {each["name"]: each for each in container["env"]}
    assert env["HF_TOKEN"]["valueFrom"]["secretKeyRef"] == {
        "name": "runoff-box-1", "key": "HF_TOKEN", "optional": True,
    }  # fmt: skip
    assert env["VLLM_NOTE"]["value"] == 'a "b" $HOME 100% c'
    assert container["resources"]["limits"] == {"nvidia.com/gpu": 2, "cpu": 4}
    assert container["resources"]["requests"] == container["resources"]["limits"]
    assert pod["hostIPC"] is True
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert container[probe]["httpGet"] == {"path": "/health", "port": 8000}
    start = container["startupProbe"]
    assert start["failureThreshold"] * start["periodSeconds"] >= plan.readiness.limit_s


def test_objects_of_kubernetes_refer_to_each_other(plans) -> None:
    found = objects(plans["trt"])
    template = found["Deployment"]["spec"]["template"]
    (container,) = template["spec"]["containers"]

    labels = template["metadata"]["labels"]
    assert found["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert found["Service"]["spec"]["selector"] == labels
    volumes = {each["name"]: each for each in template["spec"]["volumes"]}
    assert {each["name"] for each in container["volumeMounts"]} == set(volumes)
    maps = [v["configMap"]["name"] for v in volumes.values() if "configMap" in v]
    assert maps == [found["ConfigMap"]["metadata"]["name"]]
    claims = [v["persistentVolumeClaim"] for v in volumes.values() if "configMap" not in v]
    assert claims == [{"claimName": found["PersistentVolumeClaim"]["metadata"]["name"]}]
    for each in found.values():
        assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", each["metadata"]["name"])


def test_what_kubernetes_cannot_express_is_said_at_the_top(plans) -> None:
    (text,) = deployed("kubernetes", deployment(plans["trt"])).values()

    assert "# Not expressed here: ulimit memlock=-1" in text


@pytest.mark.parametrize("way", ["compose", "kubernetes"])
def test_a_launch_without_a_container_is_no_container(plans, way) -> None:
    with pytest.raises(CatalogError, match="was measured without a container"):
        deployed(way, deployment(plans["B.venv"]))


def test_an_option_that_is_not_known_is_refused_by_its_name(plans) -> None:
    plan = plans["trt"]
    argv = (*plan.argv[:2], "--privileged", *plan.argv[2:])

    with pytest.raises(CatalogError, match="cannot express '--privileged'"):
        container_run(replace(plan, argv=argv), "compose")
