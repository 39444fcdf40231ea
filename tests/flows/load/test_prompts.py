"""Prompts have the asked length, and share nothing that was not asked to be shared."""

from __future__ import annotations

import json
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.load.prompts import BodyForm, PromptSource, messages_json, token_ids, words

BLOCK = 16  # tokens; the block of vLLM's prefix cache


def source(seed=42, replication=0, alphabet=None) -> PromptSource:
    return PromptSource(
        alphabet=alphabet or token_ids(1000, 10_999), seed=seed, replication=replication
    )


def common_prefix(one: list[int], other: list[int]) -> int:
    return next(
        (i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )


@given(
    lengths=st.lists(st.integers(1, 300), min_size=1, max_size=20),
    seed=st.integers(0, 2**63),
    replication=st.integers(0, 50),
)
def test_a_prompt_has_exactly_the_asked_number_of_tokens(lengths, seed, replication):
    for alphabet in (token_ids(1000, 10_999), token_ids(32, 159)):
        prompts = source(seed, replication, alphabet)
        for length in lengths:
            sent = json.loads(alphabet.written(prompts.draw(length)))

            assert len(sent) == length
            assert set(sent) <= {int(symbol) for symbol in alphabet.symbols}


def test_text_prompts_have_the_asked_number_of_words():
    prompts = source(alphabet=words())

    text = json.loads(words().written(prompts.draw(1000)))

    assert len(text.split(" ")) == 1000


@pytest.mark.parametrize("alphabet", [token_ids(1000, 10_999), token_ids(32, 159), words()])
def test_no_two_prompts_of_any_phase_or_replication_share_their_first_block(alphabet):
    firsts = [
        tuple(prompts.draw(64)[:BLOCK].tolist())
        for prompts in (source(replication=r, alphabet=alphabet) for r in range(4))
        for _ in range(500)
    ]

    assert len(set(firsts)) == len(firsts) == 2000


def test_prompts_differ_from_the_first_tokens_on_so_that_page_size_one_shares_nothing():
    prompts = source()
    drawn = [prompts.draw(32).tolist() for _ in range(60)]

    assert max(common_prefix(a, b) for a, b in combinations(drawn, 2)) == 0


def test_another_seed_gives_other_prompts_from_the_first_token_on():
    here, there = source(seed=42), source(seed=43)

    assert common_prefix(here.draw(64).tolist(), there.draw(64).tolist()) == 0


def test_the_same_seed_and_replication_give_the_same_prompts_for_every_candidate():
    one, other = source(), source()

    assert [one.draw(n).tolist() for n in (5, 80, 1)] == [
        other.draw(n).tolist() for n in (5, 80, 1)
    ]


def test_a_shared_prefix_is_the_same_in_all_prompts_and_ends_where_it_was_asked_to():
    prompts = source()
    drawn = [prompts.draw(200, shared=120).tolist() for _ in range(50)]

    assert {common_prefix(a, b) for a, b in combinations(drawn, 2)} == {120}
    assert {len(prompt) for prompt in drawn} == {200}


def test_a_shorter_shared_prefix_is_the_start_of_a_longer_one():
    prompts = source()
    long, short = prompts.draw(200, shared=120).tolist(), prompts.draw(90, shared=60).tolist()

    assert common_prefix(long, short) == 60


def test_another_replication_has_another_shared_prefix():
    one, other = (
        source(replication=0).draw(64, shared=32),
        source(replication=1).draw(64, shared=32),
    )

    assert common_prefix(one.tolist(), other.tolist()) < 3


def test_equal_hash_ids_of_a_trace_are_equal_blocks_and_the_rest_is_unique():
    prompts = source()
    one = prompts.draw_blocks(1200, (7, 8, 9)).tolist()
    two = prompts.draw_blocks(1100, (7, 8, 11)).tolist()
    three = prompts.draw_blocks(1500, (7, 8)).tolist()
    four = prompts.draw_blocks(1500, (7, 8)).tolist()

    assert [len(prompt) for prompt in (one, two, three, four)] == [1200, 1100, 1500, 1500]
    assert common_prefix(one, two) == 1024
    assert common_prefix(three, four) == 1024
    assert one[:1024] == three[:1024]


def test_a_completions_body_asks_for_forced_greedy_streamed_output_with_usage():
    form = BodyForm(dialect="completions", model="m", temperature=0.0, seed=42, forced=True)

    assert json.loads(form.body("[5,6]", 128)) == {
        "model": "m",
        "max_tokens": 128,
        "temperature": 0.0,
        "seed": 42,
        "stream": True,
        "stream_options": {"include_usage": True},
        "ignore_eos": True,
        "prompt": [5, 6],
    }


def test_natural_output_keeps_the_end_of_sequence():
    form = BodyForm(dialect="completions", model="m", temperature=0.0, seed=42, forced=False)

    assert "ignore_eos" not in json.loads(form.body('"hello"', 128))


def test_a_chat_body_carries_text_as_the_users_message_and_messages_as_they_are():
    form = BodyForm(dialect="chat", model="m", temperature=0.0, seed=1, forced=True)
    history = [{"role": "user", "content": "ü"}, {"role": "assistant", "content": "b"}]

    assert json.loads(form.body('"hi you"', 8))["messages"] == [
        {"role": "user", "content": "hi you"}
    ]
    assert json.loads(form.body(messages_json(history), 8))["messages"] == history


def test_a_probe_body_asks_for_one_document_instead_of_a_stream():
    form = BodyForm(
        dialect="completions", model="m", temperature=0.0, seed=1, forced=True, stream=False
    )

    body = json.loads(form.body("[1]", 1))
    assert body["stream"] is False
    assert "stream_options" not in body
