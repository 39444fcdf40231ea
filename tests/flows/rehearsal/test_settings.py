"""Settings: what is refused and how, and the way to JSON and back."""

from __future__ import annotations

import re
from dataclasses import is_dataclass
from pathlib import Path
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.rehearsal import (
    EngineSettings,
    Failure,
    Rule,
    Settings,
    SettingsError,
    StreamShape,
    like,
    overlaid,
)
from flows.rehearsal.collect import collected

DOCUMENT = Path(__file__).parents[3] / "docs" / "rehearsal.md"
GENERAL_FLAGS = {"seed", "port", "model", "truth"}


def test_settings_survive_the_way_to_json_and_back():
    settings = Settings(
        seed=7,
        engine=EngineSettings(max_num_seqs=3, queue_limit=2),
        stream=StreamShape(usage="continuous"),
        rules=(
            Rule(requests=(1, 2), failure=Failure(kind="error", at_token=3)),
            Rule(every=2, stream={"done": False}),
        ),
    )

    assert Settings.from_json(settings.to_json()) == settings


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"engin": {}}, "settings has no key 'engin': did you mean 'engine'?"),
        (
            {"engine": {"max_seqs": 1}},
            "settings.engine has no key 'max_seqs': did you mean 'max_num_seqs'?",
        ),
        ({"engine": {"qqq": 1}}, "settings.engine has no key 'qqq': known are acceptance, "),
        ({"engine": 3}, "settings.engine is 3: needs an object"),
        ({"seed": "x"}, "settings.seed is 'x': needs a whole number"),
        ({"seed": True}, "settings.seed is True: needs a whole number"),
        ({"steps": {"noise": float("nan")}}, "settings.steps.noise is nan: needs a finite"),
        ({"dialect": "ollama"}, "settings.dialect is 'ollama': needs 'vllm' or 'sglang'"),
        (
            {"engine": {"max_num_seqs": 0}},
            "settings.engine.max_num_seqs is 0: needs at least 1",
        ),
        ({"steps": {"noise": 3}}, "settings.steps.noise is 3.0: needs at most 1"),
        (
            {"engine": {"token_budget": 10}},
            "settings.engine.token_budget is 10: needs at least max_num_seqs x",
        ),
        (
            {"rules": [{"failure": {"kind": "reset"}}, {"every": 0}]},
            "settings.rules[1].every is 0: needs at least 1",
        ),
        ({"rules": [{"failure": {}}]}, "settings.rules[0].failure lacks kind"),
        (
            {"rules": [{"stream": {"don": False}}]},
            "settings.rules[0].stream has no key 'don': did you mean 'done'?",
        ),
        ({"rules": {"every": 2}}, "settings.rules is {'every': 2}: needs a list"),
        ([], "settings is []: needs an object"),
        (
            {"foreign": {"streams": 1, "prompt_tokens": 200_000}},
            "settings.foreign requests are 200128 tokens: the engine holds at most 131072",
        ),
    ],
)
def test_a_wrong_setting_is_named_with_what_was_seen_and_what_is_allowed(data, message):
    with pytest.raises(SettingsError) as caught:
        Settings.from_json(data)

    assert message in str(caught.value)


def test_the_key_is_not_in_the_repr():
    settings = Settings.from_json({"identity": {"api_key": "s3cret"}})

    assert settings.identity.api_key == "s3cret"
    assert "s3cret" not in repr(settings)


def test_the_context_limit_is_the_smaller_of_window_and_kv_cache():
    assert EngineSettings(kv_blocks=10, block_tokens=16).context_limit == 160
    assert EngineSettings(max_model_len=100).context_limit == 100


@pytest.mark.parametrize("runtime", ["vllm", "sglang", "tensorrt_llm", "llama_server"])
def test_each_runtimes_manners_are_valid_settings(runtime):
    assert Settings.from_json(like(runtime)).dialect == runtime


def test_a_file_lies_over_the_manners_and_assignments_over_both(tmp_path):
    path = tmp_path / "settings.json"
    path.write_text('{"engine": {"max_num_seqs": 9, "prefix_cache": true}}')

    data = collected("llama_server", str(path), ["engine.max_num_seqs=7", "model=a-b"])

    assert data["engine"] == {"max_num_seqs": 7, "token_budget": 2048, "prefix_cache": True}
    assert data["model"] == "a-b"
    assert data["connection"] == {"close_after_stream": True}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ollama", None, []), "there is no runtime 'ollama': known are vllm"),
        ((None, "missing.json", []), "missing.json cannot be read: No such file"),
        ((None, None, ["engine"]), "'engine' has no '='"),
    ],
)
def test_a_source_that_cannot_be_used_is_named(arguments, message):
    with pytest.raises(SettingsError, match=message):
        collected(*arguments)


@pytest.mark.parametrize(("text", "message"), [("{", "is not JSON"), ("[]", "does not hold")])
def test_a_settings_file_must_hold_a_json_object(tmp_path, text, message):
    path = tmp_path / "settings.json"
    path.write_text(text)

    with pytest.raises(SettingsError, match=message):
        collected(None, str(path), [])


_JSON = st.recursive(
    st.integers() | st.text(max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)


@given(base=st.dictionaries(st.sampled_from("abc"), _JSON), top=_JSON)
def test_what_lies_on_top_wins_and_nothing_else_changes(base, top):
    merged = overlaid(base, {"a": top})

    assert {k: v for k, v in merged.items() if k != "a"} == {
        k: v for k, v in base.items() if k != "a"
    }
    assert overlaid(merged, {"a": top}) == merged


def test_every_setting_is_in_the_documentation():
    documented = set(re.findall(r"`([a-z_]+)`", DOCUMENT.read_text(encoding="utf-8")))

    assert _keys(Settings) | _keys(Rule) | _keys(Failure) <= documented | GENERAL_FLAGS


def _keys(cls):
    kinds = get_type_hints(cls)
    inner = (_keys(kind) for kind in kinds.values() if is_dataclass(kind))
    return set(kinds).union(*inner)
