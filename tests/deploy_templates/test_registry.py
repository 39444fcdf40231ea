from __future__ import annotations

from pathlib import Path

import pytest

from catalog.errors import CatalogError
from deploy_templates.registry import load_runtimes, shipped_runtimes


def test_every_folder_with_a_runtime_file_is_a_runtime() -> None:
    assert sorted(load_runtimes()) == [
        "llama_server",
        "openvino",
        "rehearsal",
        "sglang",
        "tensorrt_llm",
        "vllm",
        "vllm_cpu",
    ]


def test_only_the_rehearsal_engine_is_a_simulation() -> None:
    simulated = [name for name, runtime in load_runtimes().items() if runtime.simulation]

    assert simulated == ["rehearsal"]


def test_releases_that_capabilities_refer_to_are_listed() -> None:
    for runtime in load_runtimes().values():
        listed = {version.version for version in runtime.versions}
        named = {family.since for family in runtime.families}
        named |= {bound for device in runtime.devices for bound in (device.since, device.until)}
        assert named - {None} <= listed, runtime.name


def test_a_users_runtime_wins_over_ours(tmp_path: Path) -> None:
    ours = (shipped_runtimes() / "sglang/runtime.yaml").read_text()
    theirs = tmp_path / "runtimes/sglang/runtime.yaml"
    theirs.parent.mkdir(parents=True)
    theirs.write_text(ours.replace("title: SGLang", "title: Our fork"))

    assert load_runtimes([tmp_path])["sglang"].title == "Our fork"


def test_a_runtime_must_be_called_as_its_folder(tmp_path: Path) -> None:
    ours = (shipped_runtimes() / "sglang/runtime.yaml").read_text()
    theirs = tmp_path / "runtimes/fork/runtime.yaml"
    theirs.parent.mkdir(parents=True)
    theirs.write_text(ours)

    with pytest.raises(CatalogError, match="'sglang' does not fit its folder's name"):
        load_runtimes([tmp_path])


def test_a_runtime_file_without_capabilities_is_refused(tmp_path: Path) -> None:
    theirs = tmp_path / "runtimes/fork/runtime.yaml"
    theirs.parent.mkdir(parents=True)
    theirs.write_text("pins: {}\n")

    with pytest.raises(CatalogError, match="'capabilities' is not a mapping"):
        load_runtimes([tmp_path])
