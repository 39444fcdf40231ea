from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import yaml

from deploy_templates.host import cloud_init
from deploy_templates.plan import read_plan
from deploy_templates.render import render
from deploy_templates.request import Checkpoint, LaunchRequest
from deploy_templates.runtime_folder import load_runtime_folder

PLAN = render(
    LaunchRequest(
        name="B",
        runtime="llama_server",
        version="b11549",
        mode="venv",
        model="tiny",
        port=8000,
        device_class="cpu-x86",
        served_model='a "quoted": {{ name }}\n- x',
        checkpoint=Checkpoint(kind="path", location="/m.gguf", sha256="0" * 64),
    ),
    load_runtime_folder("llama_server"),
)


def test_a_machine_gets_the_plans_files_word_for_word() -> None:
    written = yaml.safe_load(cloud_init(PLAN))["write_files"]
    files = {entry["path"]: entry["content"] for entry in written}

    assert files["/opt/runoff/serve.sh"] == PLAN.files["serve.sh"]
    assert files["/opt/runoff/xllamacpp_server.py"] == PLAN.files["xllamacpp_server.py"]
    assert files["/opt/runoff/install.sh"] == PLAN.install.script
    assert read_plan(files["/opt/runoff/plan.json"], "plan.json") == PLAN


def test_its_end_is_arranged_before_anything_else_starts() -> None:
    commands = yaml.safe_load(cloud_init(PLAN, off_after_min=90))["runcmd"]

    assert commands[0] == ["shutdown", "-P", "+90"]
    assert ["install.sh" in str(command) for command in commands] == [False, True, False]
    assert len(yaml.safe_load(cloud_init(PLAN))["runcmd"]) == 2


def test_a_machine_is_told_the_same_every_time() -> None:
    assert cloud_init(PLAN) == cloud_init(PLAN)
    assert cloud_init(PLAN).startswith("#cloud-config\n")


def test_its_commands_start_the_server_where_the_files_are(tmp_path: Path) -> None:
    home = tmp_path / "a folder"
    plan = replace(PLAN, files={"serve.sh": "#!/bin/sh\npwd\n"})
    told = yaml.safe_load(cloud_init(plan, home=str(home)))
    home.mkdir()
    for entry in told["write_files"]:
        Path(entry["path"]).write_text(entry["content"])
        Path(entry["path"]).chmod(int(entry["permissions"], 8))
    subprocess.run(told["runcmd"][1][2:], check=True)

    assert (home / "server.log").read_text().strip() == str(home)
