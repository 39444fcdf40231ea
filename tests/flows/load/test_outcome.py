"""Every answer ends in exactly one outcome, however it pretends."""

from __future__ import annotations

import json
from array import array
from itertools import product

import pytest

from flows.load.parse import parse_request
from flows.load.raw import RawRequest

ASKED = 4


def recorded(*fragments: bytes, **changes) -> RawRequest:
    fields = {
        "sequence": 0,
        "phase": "measured",
        "session": 0,
        "turn": 0,
        "endpoint": 0,
        "prompt_id": 0,
        "prompt_tokens": 8,
        "output_tokens": ASKED,
        "connection": 0,
        "reused": False,
        "reconnected": False,
        "scheduled_ns": 0,
        "slot_free_ns": None,
        "sent_ns": 1,
        "first_byte_ns": 2,
        "done_ns": 99,
        "status": 200,
        "outcome": "complete",
        "error": "",
        "content_type": "text/event-stream",
        "fragments": list(fragments),
        "stamps_ns": array("q", range(len(fragments))),
    }
    return RawRequest(**{**fields, **changes})


def event(message: object) -> bytes:
    return b"data: " + json.dumps(message).encode() + b"\n\n"


def chunk(finish: str | None = None, **more) -> bytes:
    return event({"choices": [{"text": " a", "finish_reason": finish}], **more})


def end_of(*fragments: bytes, **changes) -> tuple[str, str]:
    parsed = parse_request(recorded(*fragments, **changes), "completions")
    return parsed.outcome, parsed.error


DONE = b"data: [DONE]\n\n"
USAGE = event({"choices": [], "usage": {"prompt_tokens": 8, "completion_tokens": 2}})


@pytest.mark.parametrize(
    ("finish", "usage", "done", "all_tokens"), list(product([False, True], repeat=4))
)
def test_a_clean_end_is_truncated_only_when_nothing_at_all_announced_it(
    finish, usage, done, all_tokens
):
    chunks = [chunk()] * (ASKED if all_tokens else 2)
    if finish:
        chunks[-1] = chunk("length")
    body = [*chunks, *([USAGE] if usage else []), *([DONE] if done else [])]
    announced = finish or usage or done or all_tokens

    assert end_of(*body)[0] == ("ok" if announced else "truncated")


def test_a_truncation_says_how_far_the_answer_came():
    assert end_of(chunk(), chunk())[1].startswith("the stream ended after 2 chunks of 4 tokens")


def test_running_usage_of_fewer_tokens_than_asked_announces_no_end():
    chunks = [chunk(usage={"completion_tokens": number}) for number in (1, 2, 3)]

    assert end_of(*chunks)[0] == "truncated"


def test_running_usage_cut_after_its_first_chunk_announces_no_end():
    assert end_of(chunk(usage={"completion_tokens": 1}))[0] == "truncated"


def test_running_usage_of_all_tokens_asked_is_an_end():
    chunks = [chunk(usage={"completion_tokens": number}) for number in (2, 4)]

    assert end_of(*chunks)[0] == "ok"


def test_usage_that_comes_once_with_the_last_chunk_is_an_end():
    assert end_of(chunk(), chunk(usage={"completion_tokens": 2}))[0] == "ok"


def test_an_event_cut_off_inside_its_line_is_not_an_error_but_a_truncation():
    assert end_of(chunk(), chunk()[:-12])[0] == "truncated"


@pytest.mark.parametrize("reason", ["abort", "cancelled"])
def test_an_answer_that_the_server_gave_up_is_truncated(reason):
    assert end_of(chunk(), chunk(reason), DONE) == ("truncated", f"finish_reason: {reason}")


@pytest.mark.parametrize(
    "error",
    [
        event({"error": {"message": "out of blocks", "code": 500}}),
        event({"error": "out of blocks", "error_type": "overloaded"}),
        event({"object": "error", "message": "out of blocks", "code": 500}),
        event({"choices": [{"text": ""}], "error": {"message": "out of blocks"}}),
        b'event: error\ndata: {"message": "out of blocks"}\n\n',
        b"event: error\ndata: out of blocks\n\n",
        b'event: error\ndata: "out of blocks"\n\n',
        b'error: {"code": 500, "message": "out of blocks"}\n\n',
    ],
)
@pytest.mark.parametrize("before", [[], [chunk(), chunk()]], ids=["at once", "in mid-stream"])
def test_an_error_inside_a_200_answer_is_a_failure_and_its_reason_is_kept(before, error):
    assert end_of(*before, error, DONE) == ("failed_in_band", "out of blocks")


def test_an_error_after_all_tokens_is_still_a_failure():
    assert end_of(*[chunk()] * ASKED, event({"error": {"message": "late"}}))[1] == "late"


def test_an_error_that_is_null_is_none():
    assert end_of(chunk("stop", error=None), DONE) == ("ok", "")


def test_a_finish_reason_of_error_is_a_failure():
    assert end_of(chunk(), chunk("error"), DONE)[0] == "failed_in_band"


@pytest.mark.parametrize(
    "body",
    [
        [],
        [DONE],
        [b": ping\n\n"],
        [b"\n\n"],
        [event({"choices": [{"text": ""}]}), DONE],
        [event({"choices": [{"text": "", "finish_reason": "stop"}]}), USAGE, DONE],
    ],
    ids=["nothing", "end mark", "comment", "blank", "empty chunk", "only usage"],
)
def test_a_200_answer_without_output_is_a_failure(body):
    assert end_of(*body) == ("failed_in_band", "a 200 answer without output")


def test_a_page_instead_of_a_stream_is_a_failure():
    assert end_of(b"<html>busy</html>")[0] == "failed_in_band"


def test_data_that_is_no_json_is_a_failure():
    assert end_of(chunk(), b"data: busy\n\n", DONE) == (
        "failed_in_band",
        "unreadable answer: busy",
    )


def test_a_named_event_that_is_no_message_may_hold_anything():
    assert end_of(b"event: ping\ndata: alive\n\n", chunk("stop"), DONE) == ("ok", "")


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b'{"error": {"message": "slow down"}}', "slow down"),
        (b'{"detail": "slow down"}', '{"detail": "slow down"}'),
        (b"slow down\n", "slow down"),
        (b"", "HTTP status 429"),
    ],
)
def test_a_refused_request_failed_by_its_status_and_keeps_the_servers_words(body, reason):
    fragments = [body] if body else []

    assert end_of(*fragments, status=429) == ("failed_http", reason)


def test_a_redirect_is_not_an_answer():
    assert end_of(chunk("stop"), DONE, status=302)[0] == "failed_http"


def test_a_status_that_refuses_rules_even_where_the_connection_broke():
    assert end_of(status=503, outcome="reset", error="closed") == ("failed_http", "closed")


@pytest.mark.parametrize(
    ("transport", "outcome"),
    [
        ("connect", "failed_connect"),
        ("timed_out", "timed_out"),
        ("cancelled", "cancelled"),
        ("not_sent", "not_sent"),
        ("reset", "failed_reset"),
    ],
)
def test_what_the_transport_saw_is_the_outcome_with_its_reason(transport, outcome):
    assert end_of(status=None, outcome=transport, error="why") == (outcome, "why")


@pytest.mark.parametrize("transport", ["timed_out", "cancelled", "reset"])
def test_a_stream_that_the_transport_cut_is_not_ok_even_with_a_finish_reason(transport):
    assert end_of(chunk(), chunk("length"), outcome=transport)[0] != "ok"


def test_a_connection_lost_behind_the_end_mark_lost_nothing():
    assert end_of(chunk(), chunk("stop"), DONE, outcome="reset", error="reset by peer") == (
        "ok",
        "reset by peer",
    )


def test_an_error_with_a_lone_surrogate_can_be_stored_as_utf8():
    outcome, error = end_of(b'data: {"error": "\\ud83d"}\n\n')

    assert (outcome, error.encode()) == ("failed_in_band", b"?")
