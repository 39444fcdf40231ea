"""Request bodies: what is accepted, how prompts are counted, what is refused and how."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.rehearsal.api import ApiError, PromptRules, parse_generation

RULES = PromptRules(block_tokens=4, drift_tokens=0, chat_overhead_tokens=8)


def parsed(kind="completions", rules=RULES, **fields):
    return parse_generation(kind, json.dumps(fields).encode(), rules)


@pytest.mark.parametrize(
    ("prompt", "counts"),
    [
        ([5, 6, 7], [3]),
        ("one two", [2]),
        ("", [1]),
        (["one", "one two"], [1, 2]),
        ([[1], [1, 2]], [1, 2]),
    ],
)
def test_prompts_are_ids_texts_or_lists_of_them(prompt, counts):
    assert [p.tokens for p in parsed(prompt=prompt).prompts] == counts


def test_the_server_can_add_tokens_to_each_prompt():
    rules = PromptRules(block_tokens=0, drift_tokens=2, chat_overhead_tokens=8)

    assert parsed(rules=rules, prompt=[1, 2]).prompts[0].tokens == 4
    assert parsed("chat", rules, messages=_user("a b")).prompts[0].tokens == 12


def test_a_chat_prompt_counts_words_and_the_templates_overhead():
    parts = [{"role": "user", "content": [{"type": "text", "text": "a b"}]}]

    assert parsed("chat", messages=_user("a b c")).prompts[0].tokens == 11
    assert parsed("chat", messages=parts).prompts[0].tokens == 10


def test_fields_left_out_have_openais_defaults():
    generation = parsed(prompt=[1])

    assert (generation.max_tokens, generation.temperature) == (16, 1.0)
    assert (generation.stream, generation.ignore_eos, generation.seed) == (False, False, None)
    assert parsed("chat", messages=_user("a")).max_tokens is None


def test_chat_takes_both_names_of_the_token_limit():
    assert parsed("chat", messages=_user("a"), max_tokens=3).max_tokens == 3
    assert parsed("chat", messages=_user("a"), max_completion_tokens=4).max_tokens == 4


def test_fields_of_other_servers_are_ignored():
    assert parsed(prompt=[1], min_tokens=3, echo=False, stop=None, logprobs=None).seed is None


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({}, "prompt"),
        ({"prompt": []}, "prompt"),
        ({"prompt": [[]]}, "prompt"),
        ({"prompt": [1, "a"]}, "prompt"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": [1.5]}, "prompt"),
        ({"prompt": [None]}, "prompt"),
        ({"prompt": {"a": 1}}, "prompt"),
        ({"prompt": ["a"] * 129}, "prompt"),
        ({"prompt": [1], "max_tokens": 0}, "max_tokens"),
        ({"prompt": [1], "max_tokens": "5"}, "max_tokens"),
        ({"prompt": [1], "max_tokens": True}, "max_tokens"),
        ({"prompt": [1], "stream": "yes"}, "stream"),
        ({"prompt": [1], "temperature": 2.5}, "temperature"),
        ({"prompt": [1], "temperature": "hot"}, "temperature"),
        ({"prompt": [1], "seed": "x"}, "seed"),
        ({"prompt": [1], "ignore_eos": 1}, "ignore_eos"),
        ({"prompt": [1], "n": 2}, "n"),
        ({"prompt": [1], "model": 3}, "model"),
        ({"prompt": [1], "stream_options": {"include_usage": True}}, "stream_options"),
    ],
)
def test_a_wrong_field_is_a_400_that_names_it(fields, param):
    with pytest.raises(ApiError) as caught:
        parsed(**fields)

    error = json.loads(caught.value.body)["error"]
    assert caught.value.status == 400
    assert error["param"] == param
    assert error["type"] == "invalid_request_error"
    assert error["message"]


@pytest.mark.parametrize(
    "messages", [None, [], "hello", [{"content": "x"}], [{"role": "user", "content": 3}], ["x"]]
)
def test_wrong_messages_are_a_400(messages):
    with pytest.raises(ApiError) as caught:
        parsed("chat", messages=messages)

    assert json.loads(caught.value.body)["error"]["param"] == "messages"


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b'"x"', b"\xff"])
def test_a_body_that_is_not_a_json_object_is_a_400(body):
    with pytest.raises(ApiError) as caught:
        parse_generation("completions", body, RULES)

    assert caught.value.status == 400


@given(
    shared=st.lists(st.integers(0, 1000), max_size=40),
    one=st.lists(st.integers(0, 1000), max_size=20),
    other=st.lists(st.integers(1001, 2000), max_size=20),
)
def test_prompts_share_exactly_the_hashes_of_their_common_full_blocks(shared, one, other):
    first = parsed(prompt=[*shared, *one, 1]).prompts[0]
    second = parsed(prompt=[*shared, *other, 2000]).prompts[0]

    common = 0
    for a, b in zip(first.block_hashes, second.block_hashes, strict=False):
        if a != b:
            break
        common += 1
    assert common == len(shared) // 4
    assert len(first.block_hashes) == first.tokens // 4


def _user(text):
    return [{"role": "user", "content": text}]
