from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from catalog.json_schema import KINDS, json_schema
from catalog.load import load_campaign, shipped_catalog
from catalog.yaml_nodes import read_document
from deploy_templates.registry import shipped_runtimes

OURS = shipped_catalog()
FILES = [
    *(("campaign", path) for path in sorted((OURS / "campaigns").glob("*.yaml"))),
    *(("device", path) for path in sorted((OURS / "devices").glob("*.yaml"))),
    *(("link", path) for path in sorted((OURS / "links").glob("*.yaml"))),
    *(("model", path) for path in sorted((OURS / "models").glob("*.yaml"))),
    *(("offers", path) for path in sorted(OURS.glob("**/offers/*.yaml"))),
    *(("runtime", path) for path in sorted(shipped_runtimes().glob("*/runtime.yaml"))),
]
CAMPAIGN: dict[str, Any] = {
    "schema_version": 1,
    "name": "mine",
    "contract": {
        "model": "some/model",
        "prompt_tokens": 1024,
        "output_tokens": "normal:128:16:256",
        "concurrency": 16,
    },
    "candidates": [{"name": "B", "device": "nvidia-l4", "runtime": "vllm"}],
    "budget": {"usd": 50, "hours": 4},
}


def faults(kind: str, value: object) -> list[str]:
    return [
        error.message for error in Draft202012Validator(json_schema(kind)).iter_errors(value)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_has_a_valid_schema(kind: str) -> None:
    Draft202012Validator.check_schema(json_schema(kind))


def test_every_kind_has_shipped_files() -> None:
    assert {kind for kind, _ in FILES} == set(KINDS)


@pytest.mark.parametrize(
    ("kind", "path"), FILES, ids=[f"{kind}-{path.stem}" for kind, path in FILES]
)
def test_every_shipped_file_fits_its_schema(kind: str, path: Path) -> None:
    assert faults(kind, read_document(path).value) == []


def test_a_campaign_that_reads_fits_the_schema(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(str(CAMPAIGN))  # a Python dict of these values is YAML as well

    load_campaign(path)

    assert faults("campaign", read_document(path).value) == []


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("contract", "concurency", 16),
        ("contract", "concurrency", "16"),
        ("contract", "concurrency", 0),
        ("contract", "slo", {"ttft": 1000}),
        ("budget", "usd", True),
    ],
)
def test_what_the_reader_refuses_the_schema_refuses(
    section: str, key: str, value: object
) -> None:
    broken = CAMPAIGN | {section: CAMPAIGN[section] | {key: value}}

    assert faults("campaign", broken)


def test_a_fact_without_its_source_does_not_fit() -> None:
    path = OURS / "devices/nvidia-l4.yaml"
    value = read_document(path).value | {"marketed_memory": {"value": "24 GB"}}

    assert faults("device", value) == ["'source' is a required property"]


def test_a_runtime_file_may_hold_more_than_capabilities() -> None:
    value = read_document(shipped_runtimes() / "vllm/runtime.yaml").value

    assert faults("runtime", value | {"pins": {"package": "vllm"}}) == []
    assert faults("runtime", {"pins": {}}) == ["'capabilities' is a required property"]
