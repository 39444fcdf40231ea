"""What an answer's last events say of its own request."""

from __future__ import annotations

import json

import pytest

from deploy_templates.plan import AnswerField
from flows.collect.answers import answered
from tests.flows.collect.conftest import names_of, recorded


def fragments_of(name: str) -> list[bytes]:
    """A recorded stream, one fragment an event."""
    return [event + b"\n\n" for event in recorded(name).removesuffix(b"\n\n").split(b"\n\n")]


LLAMA = fragments_of("llama_server-b11549-answer")
VLLM = fragments_of("vllm-0.32.0-answer")
PROMPT = names_of("llama_server", "b11549").answers
QUEUE = names_of("vllm", "0.33.0").answers


def test_a_real_llama_server_says_how_long_the_prompt_took():
    assert answered(LLAMA, PROMPT) == {"prompt_time": pytest.approx(0.002295)}


def test_a_real_vllm_says_how_long_the_request_waited():
    assert answered(VLLM, QUEUE) == {"queue_time": pytest.approx(3.1157e-5)}


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_it_does_not_matter_how_the_bytes_were_cut(size):
    body = b"".join(VLLM)
    fragments = [body[at : at + size] for at in range(0, len(body), size)]

    assert answered(fragments, QUEUE) == answered(VLLM, QUEUE)


@pytest.mark.parametrize("line_end", [b"\r\n", b"\r"])
def test_other_line_ends_are_read_too(line_end):
    fragments = [fragment.replace(b"\n", line_end) for fragment in VLLM]

    assert answered(fragments, QUEUE) == answered(VLLM, QUEUE)


def test_an_answer_that_says_nothing_has_nothing():
    assert answered(LLAMA, QUEUE) == {}
    assert answered([], QUEUE) == {}
    assert answered(VLLM, {}) == {}
    assert answered([b"data: {cut off"], QUEUE) == {}


@pytest.mark.parametrize("value", [None, "0.1", True, {}], ids=str)
def test_what_is_no_number_is_not_taken(value):
    event = json.dumps({"metrics": {"queue_time_ms": value}}).encode()

    assert answered([b"data: " + event + b"\n\n"], QUEUE) == {}


def test_the_last_event_that_has_the_field_counts():
    events = [b'data: {"t": {"w": %d}}\n\n' % number for number in (1, 2, 3)]

    assert answered(events, {"queue_time": AnswerField(key="t.w")}) == {"queue_time": 3.0}


def test_a_text_that_looks_like_the_field_is_not_taken_for_it():
    event = b'data: {"choices": [{"text": "\\"metrics\\""}]}\n\n'

    assert answered([event], QUEUE) == {}


def test_only_the_end_of_a_long_answer_is_looked_at():
    fragments = [b'data: {"choices": []}\n\n'] * 100_000 + VLLM

    assert answered(fragments, QUEUE) == answered(VLLM, QUEUE)


def test_an_answer_that_was_not_streamed_is_one_event():
    body = json.dumps({"choices": ["x" * 40_000], "metrics": {"queue_time_ms": 5}}).encode()

    assert answered([body[:20_000], body[20_000:]], QUEUE) == {"queue_time": 0.005}
