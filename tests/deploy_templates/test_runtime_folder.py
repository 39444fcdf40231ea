from __future__ import annotations

from pathlib import Path

import pytest

from catalog.errors import CatalogError
from deploy_templates.registry import load_runtimes
from deploy_templates.render import render
from deploy_templates.request import LaunchRequest, Variables
from deploy_templates.runtime_folder import (
    load_runtime_folder,
    read_runtime_folder,
    runtime_folders,
)
from deploy_templates.schema import VARIABLES

CONTROLLED = {"max_sequences": "--slots", "seed": "--seed"}
RUNTIME = """
capabilities:
  name: toy
  title: A server of a team's own
  versions: [{version: "1.0", source: ours}, {version: "2.0", source: ours}]
  families: [{family: llama}]
  devices: [{device_class: cpu-x86, weights: [bfloat16], kv_cache: [bfloat16]}]
  tradeoffs:
    primary_execution_backend: x
    continuous_batching: x
    kv_cache_management: x
    prefix_caching: x
    chunked_prefill: x
    tensor_parallelism: x
    deployment_complexity: x
    best_production_fit: x
launch:
  forms:
    - name: script
      mode: process
      title: its own script
      command: ["{{ program('python', 'python3') }}", toy.py]
      program: python
      scripts: [toy.py]
  pins: [{version: "1.0"}, {version: "2.0"}]
  serve: [{words: [--port, "{{ port }}", --model, "{{ served_model }}"]}]
  variables:
"""
MANNERS = """
  health: [{path: /health}]
  readiness: [{limit_s: 10}]
  report: {}
  failures: [{pattern: "no", error: no, means: it said no, do: ask again}]
  phases: [{name: listen, pattern: "listening"}]
  verified: ["2.0"]
  sources: [ours]
"""


def variables(since: str = "2.0") -> str:
    lines = []
    for name in VARIABLES:
        if name in CONTROLLED:
            control = f'{{flag: {CONTROLLED[name]}, since: "{since}"}}'
            lines.append(f"    {name}: {{controls: [{control}]}}")
        else:
            reason = "{then: error, why: it has no such thing}"
            lines.append(f"    {name}: {{uncontrolled: [{reason}], unset: none}}")
    return "\n".join(lines)


def toy_folder(catalog: Path, text: str) -> Path:
    folder = catalog / "runtimes/toy"
    folder.mkdir(parents=True)
    (folder / "runtime.yaml").write_text(text)
    (folder / "toy.py").write_text("print('toy')\n")
    for name in ("serve", "install"):
        (folder / f"{name}.sh.j2").write_text(f'{{% extends "shared/{name}.sh.j2" %}}\n')
    return folder


def toy_request(asked: Variables, version: str = "2.0") -> LaunchRequest:
    return LaunchRequest(
        name="mine",
        runtime="toy",
        version=version,
        mode="process",
        model="m",
        port=9000,
        device_class="cpu-x86",
        variables=asked,
    )


def test_a_runtime_is_added_by_one_folder(tmp_path: Path) -> None:
    toy_folder(tmp_path, RUNTIME + variables() + MANNERS)
    plan = render(
        toy_request(Variables(max_sequences=3)), load_runtime_folder("toy", (tmp_path,))
    )

    assert "toy" in load_runtimes((tmp_path,))
    assert plan.argv == (
        "python3", "toy.py", "--port", "9000", "--model", "m", "--slots", "3",
    )  # fmt: skip
    assert plan.files["toy.py"] == "print('toy')\n"


def test_a_flag_that_came_later_is_refused_for_the_release_before_it(tmp_path: Path) -> None:
    folder = read_runtime_folder(toy_folder(tmp_path, RUNTIME + variables() + MANNERS))

    with pytest.raises(CatalogError, match=r"seed: toy: 1\.0 has no setting for it"):
        render(toy_request(Variables(seed=1), "1.0"), folder)


def test_shipped_runtimes_lie_beside_a_users(tmp_path: Path) -> None:
    toy_folder(tmp_path, RUNTIME + variables() + MANNERS)

    assert set(runtime_folders((tmp_path,))) == {*runtime_folders(), "toy"}


def test_a_runtime_that_is_not_there_is_met_with_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(CatalogError, match="Did you mean 'vllm'"):
        load_runtime_folder("vlm")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((' "2.0"}', ' "1.5"}'), r"release '2\.0' is not among|'1\.5'|without a pin"),
        (("scripts: [toy.py]", "scripts: [gone.py]"), r"lacks gone\.py"),
        (("    seed:", "    sed:"), "no controlled variable"),
        (("then: error", "then: ignore"), "then"),
        (("launch:", "lunch:"), "launch"),
        (("mode: process", "mode: magic"), "mode"),
    ],
)
def test_a_folder_that_contradicts_itself_is_refused(
    tmp_path: Path, change: tuple[str, str], said: str
) -> None:
    text = (RUNTIME + variables() + MANNERS).replace(*change, 1)

    with pytest.raises(CatalogError, match=said):
        read_runtime_folder(toy_folder(tmp_path, text))


def test_a_variable_that_a_runtime_does_not_speak_of_is_a_fault_of_its_file(
    tmp_path: Path,
) -> None:
    text = RUNTIME + "\n".join(variables().splitlines()[1:]) + MANNERS

    with pytest.raises(CatalogError, match="variables say nothing of revision"):
        read_runtime_folder(toy_folder(tmp_path, text))


def test_a_template_cannot_reach_out_of_its_sandbox(tmp_path: Path) -> None:
    planted = "{{ ''.__class__.__mro__[1].__subclasses__() }}"
    text = (RUNTIME + variables() + MANNERS).replace("{{ served_model }}", planted)
    folder = read_runtime_folder(toy_folder(tmp_path, text))

    with pytest.raises(CatalogError, match="cannot be rendered"):
        render(toy_request(Variables()), folder)


def test_a_name_that_no_template_knows_is_an_error(tmp_path: Path) -> None:
    text = (RUNTIME + variables() + MANNERS).replace("served_model", "sered_model")
    folder = read_runtime_folder(toy_folder(tmp_path, text))

    with pytest.raises(CatalogError, match="'sered_model' is undefined"):
        render(toy_request(Variables()), folder)
