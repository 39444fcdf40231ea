"""Answers of both dialects become the same tokens; what carries none is refused."""

from __future__ import annotations

import json
import math

import pytest

from flows.bench.endpoint import checked_endpoint
from flows.bench.http import Answer
from flows.errors import InfrastructureError, UsageError
from flows.load.plan import Tls
from flows.quality.answering import (
    Server,
    UnansweredError,
    continued,
    fitted,
    read_answer,
)

URL = "http://127.0.0.1:1/v1/completions"


def server(*, is_ids=False, url=URL):
    return Server(endpoint=checked_endpoint(url, {}, Tls()), model="m", is_ids=is_ids)


def answer(logprobs, status=200):
    body = json.dumps({"choices": [{"text": "x", "logprobs": logprobs}]})
    return Answer(status=status, body=body.encode())


def entry(token, number, logprob, content=None):
    plain = list(token.encode()) if content is None else content
    return {"token": token, "id": number, "logprob": logprob, "bytes": plain}


OBJECTS = {
    "content": [
        {**entry("he", 7, -0.1), "top_logprobs": [entry("he", 7, -0.1), entry("a", 8, -3.0)]},
        {**entry("llo", 9, -0.2), "top_logprobs": [entry("llo", 9, -0.2)]},
    ]
}
LISTS = {
    "tokens": ["he", "llo"],
    "token_logprobs": [-0.1, -0.2],
    "top_logprobs": [{"he": -0.1, "a": -3.0}, {"llo": -0.2}],
}
LISTS_OF_IDS = {
    "tokens": ["token_id:7", "token_id:9"],
    "token_logprobs": [-0.1, -0.2],
    "top_logprobs": [{"token_id:7": -0.1, "token_id:8": -3.0}, {"token_id:9": -0.2}],
}


@pytest.mark.parametrize("found", [OBJECTS, LISTS])
def test_both_dialects_are_read_as_texts(found):
    read = read_answer(answer(found), server())

    assert read.tokens == ("he", "llo")
    assert read.top == {"he": -0.1, "a": -3.0}


@pytest.mark.parametrize("found", [OBJECTS, LISTS_OF_IDS])
def test_both_dialects_are_read_as_ids(found):
    read = read_answer(answer(found), server(is_ids=True))

    assert read.tokens == ("7", "9")
    assert read.top == {"7": -0.1, "8": -3.0}


def test_an_answer_that_ends_at_once_is_one():
    assert read_answer(answer({"content": []}), server()).tokens == ()


def test_a_token_that_cannot_come_is_not_listed():
    found = {**LISTS, "top_logprobs": [{"he": -0.1, "a": None}, {}]}

    assert read_answer(answer(found), server()).top == {"he": -0.1}


def test_the_end_of_an_answer_is_the_same_whoever_names_it():
    end = {**entry("", 2, -0.2, []), "top_logprobs": [entry("", 2, -0.2, [])]}
    objects = {"content": [OBJECTS["content"][0], end]}
    lists = {
        "tokens": ["he", "</s>"],
        "top_logprobs": [{"he": -0.1, "a": -3.0}, {"</s>": -0.2}],
    }
    at_once = {"tokens": ["<|eot_id|>"], "top_logprobs": [{"<|eot_id|>": -0.2, "a": -3.0}]}

    assert read_answer(answer(objects), server()) == read_answer(answer(lists), server())
    assert read_answer(answer(lists), server()).tokens == ("he",)
    assert read_answer(answer(at_once), server()).tokens == ()
    assert read_answer(answer(at_once), server()).top == {"": -0.2, "a": -3.0}


def test_tokens_of_one_text_count_together():
    both = [entry("", 2, math.log(0.6)), entry("a", 8, -3.0), entry("", 3, math.log(0.1))]
    found = {"content": [{**both[0], "top_logprobs": both}]}

    assert read_answer(answer(found), server()).top == {
        "": pytest.approx(math.log(0.7)),
        "a": -3.0,
    }
    assert len(read_answer(answer(found), server(is_ids=True)).top) == 3


@pytest.mark.parametrize("found", [None, {}, {"tokens": ["a"], "top_logprobs": None}, LISTS])
def test_an_answer_without_log_probabilities_is_refused(found):
    is_ids = found is LISTS  # texts where ids were asked for

    with pytest.raises(UnansweredError, match="no log-probabilities"):
        read_answer(answer(found), server(is_ids=is_ids))


def test_a_refused_prompt_is_told_apart_from_a_server_that_cannot_be_used():
    with pytest.raises(UnansweredError, match=r"refuses a prompt \(400"):
        read_answer(answer(OBJECTS, status=400), server())
    with pytest.raises(InfrastructureError, match=r"\(404") as refused:
        read_answer(answer(OBJECTS, status=404), server())
    assert not isinstance(refused.value, UnansweredError)


def test_a_prompt_goes_on_with_the_tokens_of_an_answer():
    halves = [
        {**entry("�", 1, -0.1, [0xC3]), "top_logprobs": []},
        {**entry("�", 2, -0.1, [0xA9]), "top_logprobs": []},
    ]
    read = read_answer(answer({"content": halves}), server())

    assert continued("caf", read.tokens) == "café"
    assert continued("caf", read.tokens[:1]) == "caf"
    assert continued((5, 6), ("7", "9")) == (5, 6, 7, 9)


def test_a_chat_call_is_refused_because_it_continues_no_answer():
    with pytest.raises(UsageError, match="continues no given answer"):
        fitted(server(url="http://127.0.0.1:1/v1/chat/completions"), "a")
