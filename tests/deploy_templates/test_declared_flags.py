"""What is rendered for a release, against the flags that the release itself declares."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

from catalog.errors import CatalogError
from deploy_templates.clashes import managed_flags, plain_flag
from deploy_templates.plan import LaunchPlan
from deploy_templates.registry import shipped_runtimes
from deploy_templates.render import render
from deploy_templates.request import Checkpoint, LaunchRequest, Variables
from deploy_templates.runtime_folder import load_runtime_folder
from deploy_templates.schema import VARIABLES

RECORDS = {
    (path.parent.parent.name, path.stem): path
    for path in sorted(shipped_runtimes().glob("*/flags/*.json"))
}
FOLDERS = {name: load_runtime_folder(name) for name in {name for name, _ in RECORDS}}
CPU = {"vllm_cpu"}
# asked values by variable, and variables that must be asked beside them
ASKED = {
    "revision": ["main"],
    "weights": ["bfloat16", "float16", "fp8", "awq_int4", "gptq_int4"],
    "kv_cache": ["bfloat16", "float16", "fp8", "int8", "nvfp4"],
    "quantization": ["fp8"],
    "max_model_len": [4096],
    "memory_utilisation": [0.85],
    "kv_cache_gib": [4],
    "tensor_parallel": [1, 2],
    "pipeline_parallel": [1, 2],
    "data_parallel": [1, 2],
    "expert_parallel": [1, 2],
    "max_sequences": [64],
    "token_budget": [2048],
    "context_per_slot": [4096],
    "threads": [2],
    "prefix_caching": [True, False],
    "chunked_prefill": [True, False],
    "attention_backend": ["flashinfer"],
    "seed": [7],
    "dummy_weights": [True, False],
    "eager": [True, False],
    "stream_interval": [1, 4],
    "generation_config": ["engine", "model"],
    "draft_model": ["org/draft"],
    "draft_tokens": [3],
    "draft_method": ["draft", "eagle", "eagle3"],
    "offload_gib": [8],
}
BESIDE = {
    "draft_model": {"draft_tokens": 3},
    "draft_tokens": {"draft_model": "org/draft"},
    "draft_method": {"draft_model": "org/draft", "draft_tokens": 3},
    "expert_parallel": {"tensor_parallel": 2},
}


def request_for(name: str, version: str, variables: Variables) -> LaunchRequest:
    return LaunchRequest(
        name="candidate",
        runtime=name,
        version=version,
        mode="venv",
        model="org/model",
        port=8000,
        device_class="cpu-x86" if name in CPU else "cuda",
        variables=variables,
    )


@cache
def plans(name: str, version: str) -> tuple[tuple[str, object, LaunchPlan | str], ...]:
    """A plan for each value of each variable, or the reason why there is none."""
    return tuple(each_plan(name, version))


def each_plan(name: str, version: str) -> Iterator[tuple[str, object, LaunchPlan | str]]:
    for variable, values in ASKED.items():
        for value in values:
            beside = BESIDE.get(variable, {}) if value != 1 else {}
            asked = replace(Variables(**{variable: value}), **beside)
            try:
                plan = render(request_for(name, version, asked), FOLDERS[name])
            except CatalogError as error:
                yield variable, value, str(error)
            else:
                yield variable, value, plan


def undeclared(plan: LaunchPlan, record: dict) -> list[str]:
    """Words of a command line that the release would not take as they stand."""
    flags = {
        spelling: entry
        for first, entry in record["flags"].items()
        for spelling in (first, *entry.get("aliases", ()))
    }
    negatives = {entry["negative"] for entry in flags.values() if "negative" in entry}
    words, wrong = list(plan.argv[3:]), []
    while words:
        flag, equals, value = words.pop(0).partition("=")
        if flag in negatives and not equals:
            continue
        if flag not in flags:
            wrong.append(flag)
            continue
        entry = flags[flag]
        if entry["takes"] == "nothing":
            wrong += [f"{flag}={value}"] if equals else []
            continue
        if not equals and entry["takes"] == "value":
            value = words.pop(0) if words else ""
        choices = entry.get("choices")
        if choices and value not in choices:
            wrong.append(f"{flag} {value}")
    return wrong


def test_every_variable_is_asked_here() -> None:
    assert sorted(ASKED) == sorted(VARIABLES)


def test_the_lessons_and_the_newest_releases_are_recorded() -> None:
    wanted = {("vllm", "0.6.3"), ("vllm", "0.33.0"), ("sglang", "0.3.5"), ("sglang", "0.5.23")}

    assert wanted <= set(RECORDS)


@pytest.mark.parametrize(("name", "version"), RECORDS, ids=lambda part: part)
def test_a_record_names_its_wheel_and_the_hash_that_is_pinned(name: str, version: str) -> None:
    record = json.loads(RECORDS[name, version].read_text())
    pin = next(pin for pin in FOLDERS[name].launch.pins if pin.version == version)

    assert re.fullmatch(r"[0-9a-f]{64}", record["sha256"])
    assert record["wheel"].startswith(f"{record['package']}-{record['version']}-")
    assert record["sha256"] in pin.packages[0].sha256
    assert pin.packages[0].version == record["version"]


@pytest.mark.parametrize(("name", "version"), RECORDS, ids=lambda part: part)
def test_every_rendered_flag_is_one_that_the_release_declares(name: str, version: str) -> None:
    record = json.loads(RECORDS[name, version].read_text())
    wrong = {
        f"{variable}={value}": undeclared(plan, record)
        for variable, value, plan in plans(name, version)
        if isinstance(plan, LaunchPlan)
    }

    assert {asked: words for asked, words in wrong.items() if words} == {}


@pytest.mark.parametrize(("name", "version"), RECORDS, ids=lambda part: part)
def test_every_variable_is_rendered_or_refused_with_a_reason(name: str, version: str) -> None:
    for variable, value, plan in plans(name, version):
        if isinstance(plan, str):
            assert re.search(r": \w+: .*(cannot be asked of it: \w|needs)", plan), plan
            continue
        controlled = plan.controlled[variable]
        assert controlled.asked == value
        if controlled.how == "rendered":
            assert controlled.rendered or controlled.note.startswith("stands with")
        if controlled.how == "threat":
            assert any(variable in threat for threat in plan.threats)


@pytest.mark.parametrize(("name", "version"), RECORDS, ids=lambda part: part)
def test_the_environment_is_one_that_the_release_reads(name: str, version: str) -> None:
    declared = set(json.loads(RECORDS[name, version].read_text())["environment"])
    others = {"HF_HUB_OFFLINE", "HF_ENDPOINT", "OMP_NUM_THREADS"}
    for _, _, plan in plans(name, version):
        if isinstance(plan, LaunchPlan):
            assert set(plan.env) - others - declared == set()


@pytest.mark.parametrize(("name", "version"), RECORDS, ids=lambda part: part)
def test_every_metric_is_one_that_the_release_names(name: str, version: str) -> None:
    named = set(json.loads(RECORDS[name, version].read_text())["metrics"])
    plan = render(request_for(name, version, Variables()), FOLDERS[name])
    series = plan.metrics.series.values() if plan.metrics else ()
    missing = [
        one.name
        for one in series
        if one.name not in named and one.name.removesuffix("_total") not in named
    ]

    assert missing == []


@pytest.mark.parametrize(("name", "version"), RECORDS, ids=lambda part: part)
def test_a_flag_of_the_release_is_not_taken_for_another_one_shortened(
    name: str, version: str
) -> None:
    launch = FOLDERS[name].launch
    managed, refused = managed_flags(launch), launch.refused_arguments
    for flag in json.loads(RECORDS[name, version].read_text())["flags"]:
        if plain_flag(flag) not in managed and flag not in refused:
            request = request_for(name, version, Variables())
            assert render(replace(request, extra_args=(flag,)), FOLDERS[name])


@pytest.mark.parametrize(("name", "version"), RECORDS, ids=lambda part: part)
def test_other_spellings_of_managed_flags_are_refused_as_well(name: str, version: str) -> None:
    record = json.loads(RECORDS[name, version].read_text())
    plain = render(request_for(name, version, Variables(max_sequences=8)), FOLDERS[name])
    managed = {word for word in plain.argv if word.startswith("--")}
    for first, entry in record["flags"].items():
        spellings = [first, *entry.get("aliases", ()), entry.get("negative", first)]
        if managed.isdisjoint(spellings):
            continue
        for spelling in spellings:
            request = request_for(name, version, Variables())
            request = replace(request, extra_args=(f"{spelling}=1",))
            with pytest.raises(CatalogError, match="extra_args"):
                render(request, FOLDERS[name])


def test_a_folder_of_weights_keeps_the_hub_out() -> None:
    request = request_for("vllm", "0.33.0", Variables())
    plan = render(
        replace(request, checkpoint=Checkpoint(kind="path", location="/m", sha256="1" * 64)),
        FOLDERS["vllm"],
    )

    assert plan.env["HF_HUB_OFFLINE"] == "1"
    assert plan.secret_env == ()


def test_drafts_are_asked_for_as_each_release_wants_them() -> None:
    asked = Variables(draft_model="org/draft", draft_tokens=3)
    old = render(request_for("vllm", "0.6.3", asked), FOLDERS["vllm"])
    new = render(request_for("vllm", "0.33.0", asked), FOLDERS["vllm"])

    assert old.controlled["draft_model"].rendered == (
        "--speculative-model",
        "org/draft",
        "--num-speculative-tokens",
        "3",
    )
    flag, text = new.argv[-2:]
    assert flag == "--speculative-config"
    assert json.loads(text) == {
        "method": "draft_model",
        "model": "org/draft",
        "num_speculative_tokens": 3,
    }
    with pytest.raises(CatalogError, match="not with a draft model"):
        render(request_for("vllm", "0.11.0", asked), FOLDERS["vllm"])


def test_a_release_between_known_ones_takes_the_older_ones_flags_and_says_so() -> None:
    plan = render(
        request_for("vllm", "0.29.0", Variables(prefix_caching=False)), FOLDERS["vllm"]
    )

    assert "--no-enable-prefix-caching" in plan.argv
    assert any("0.29.0 of vllm is between" in threat for threat in plan.threats)
    assert any("those of 0.27.1" in threat for threat in plan.threats)


@pytest.mark.parametrize("version", ["0.5.0", "0.34.0", "latest"])
def test_a_release_outside_the_known_ones_is_refused_with_their_list(version: str) -> None:
    with pytest.raises(CatalogError, match=r"outside those .*0\.6\.3, .*0\.33\.0"):
        render(request_for("vllm", version, Variables()), FOLDERS["vllm"])


def test_what_is_recorded_is_read_from_the_source_alone(tmp_path: Path) -> None:
    from deploy_templates.record_flags import recorded, sources_of

    engine = tmp_path / "vllm/engine/arg_utils.py"
    engine.parent.mkdir(parents=True)
    engine.write_text(
        "raise SystemExit('imported')\n"
        "class C:\n"
        "    fast: bool = False\n"
        "    kind: Literal['a', 'b'] | None = None\n"
        "def add(parser):\n"
        "    kwargs = get_kwargs(C)\n"
        "    parser.add_argument('--fast', '-f', **kwargs['fast'])\n"
        "    parser.add_argument('--kind', **{**kwargs['kind'], 'default': 'a'})\n"
        "    parser.add_argument('--log', action='store_true')\n"
        "    parser.add_argument('--level', nargs='?', choices=['1', '2'])\n"
        "    parser.add_argument('model_tag')\n"
    )
    cli = tmp_path / "vllm/entrypoints/openai/cli_args.py"
    cli.parent.mkdir(parents=True)
    cli.write_text(
        "class BaseFrontendArgs:\n    host: str\n"
        "class FrontendArgs(BaseFrontendArgs):\n    open_port: bool = True\n"
    )
    found = recorded("vllm", "1", sources_of(tmp_path), "", "")["flags"]

    assert found == {
        "--fast": {"takes": "nothing", "aliases": ["-f"], "negative": "--no-fast"},
        "--host": {"takes": "value"},
        "--kind": {"takes": "value", "choices": ["a", "b"]},
        "--level": {"takes": "optional", "choices": ["1", "2"]},
        "--log": {"takes": "nothing"},
        "--open-port": {"takes": "nothing", "negative": "--no-open-port"},
    }


def test_annotated_fields_are_flags_unless_they_say_otherwise(tmp_path: Path) -> None:
    from deploy_templates.record_flags import recorded, sources_of

    fields = tmp_path / "sglang/srt/arg_groups/fields/x.py"
    fields.parent.mkdir(parents=True)
    fields.write_text(
        "class P:\n"
        "    tp_size: A[int, Arg(help='x', aliases=['--tensor-parallel-size'])] = 1\n"
        "    fast: A[bool, 'help'] = False\n"
        "    hidden: A[int, Arg(help='x', no_cli=True)] = 1\n"
        "    internal: A[int, NS('spec')] = 1\n"
        "    kind: A[Optional[Literal['a']], Arg(cli_name='--kinds')] = None\n"
    )
    found = recorded("sglang", "1", sources_of(tmp_path), "", "")["flags"]

    assert found == {
        "--tp-size": {"takes": "value", "aliases": ["--tensor-parallel-size"]},
        "--fast": {"takes": "nothing"},
        "--kinds": {"takes": "value", "choices": ["a"]},
    }
