"""Recorded bytes become requests, tokens, gaps and times."""

from __future__ import annotations

import json
from array import array
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.load.parse import Columns, parse_request, parse_run
from flows.load.raw import RawRequest, RawRun

MS = 1_000_000


def recorded(*fragments: bytes, asked: int = 4, **changes) -> RawRequest:
    """A whole 200 answer, one fragment every 10 ms from 100 ms on."""
    stamps = array("q", [(100 + 10 * number) * MS for number in range(len(fragments))])
    raw = RawRequest(
        sequence=0,
        phase="measured",
        session=0,
        turn=0,
        endpoint=0,
        prompt_id=5,
        prompt_tokens=8,
        output_tokens=asked,
        connection=0,
        reused=True,
        reconnected=False,
        scheduled_ns=0,
        slot_free_ns=None,
        sent_ns=MS,
        first_byte_ns=100 * MS,
        done_ns=900 * MS,
        status=200,
        outcome="complete",
        error="",
        content_type="text/event-stream",
        fragments=list(fragments),
        stamps_ns=stamps,
    )
    return replace(raw, **changes)


def sse(*messages: object) -> list[bytes]:
    """One fragment per message, and the end mark."""
    return [b"data: " + json.dumps(message).encode() + b"\n\n" for message in messages] + [
        b"data: [DONE]\n\n"
    ]


def text(piece: str | None, finish: str | None = None, **more) -> dict:
    return {"choices": [{"index": 0, "text": piece, "finish_reason": finish}], **more}


def delta(finish: str | None = None, usage: dict | None = None, **fields) -> dict:
    message = {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}
    return message if usage is None else {**message, "usage": usage}


def usage(output: int, prompt: int = 8, **more) -> dict:
    return {"prompt_tokens": prompt, "completion_tokens": output, **more}


def completions(*messages: object, count=None, **changes):
    return parse_request(recorded(*sse(*messages), **changes), "completions", count)


def chat(*messages: object, count=None, **changes):
    return parse_request(recorded(*sse(*messages), **changes), "chat", count)


def test_each_chunk_with_text_is_stamped_with_its_arrival():
    parsed = completions(text("a"), text("b"), text("c", "length"))

    assert parsed.stamps_ns == [100 * MS, 110 * MS, 120 * MS]
    assert parsed.outcome == "ok"
    assert parsed.finish_reason == "length"


@pytest.mark.parametrize("content", ["", None], ids=["empty", "null"])
def test_a_role_chunk_without_text_is_no_token(content):
    parsed = chat(delta(role="assistant", content=content), delta(content="a"))

    assert parsed.stamps_ns == [110 * MS]


def test_an_absent_content_and_an_absent_delta_are_no_tokens():
    parsed = chat(delta(role="assistant"), {"choices": [{"index": 0}]}, delta(content="a"))

    assert parsed.stamps_ns == [120 * MS]


def test_an_empty_first_completion_chunk_is_no_token():
    assert completions(text(""), text("a")).stamps_ns == [110 * MS]


def test_a_bare_finish_reason_is_no_token():
    assert completions(text("a"), text("", "stop")).output_chunks == 1


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_reasoning_is_a_token_and_the_answer_begins_after_it(name):
    parsed = chat(
        delta(role="assistant", content=""),
        delta(**{name: "hm"}),
        delta(**{name: "so", "content": None}),
        delta(content="42"),
    )

    assert parsed.stamps_ns[0] == 110 * MS
    assert parsed.first_answer_ns == 130 * MS


def test_reasoning_given_in_both_fields_is_one_text():
    counted = []
    chat(delta(reasoning_content="hm", reasoning="hm"), count=lambda t: counted.append(t) or 1)

    assert set(counted) == {"hm"}


def test_typed_content_parts_tell_thinking_from_answer():
    thinking = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    parsed = chat(delta(content=[thinking]), delta(content=[{"type": "text", "text": "42"}]))

    assert parsed.stamps_ns == [100 * MS, 110 * MS]
    assert parsed.first_answer_ns == 110 * MS


@pytest.mark.parametrize(
    "fields",
    [
        {"tool_calls": [{"index": 0, "function": {"name": "find", "arguments": ""}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": '{"q":'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": {"q": 1}}}]},
        {"function_call": {"name": "find", "arguments": "{}"}},
        {"refusal": "no"},
    ],
)
def test_tool_calls_and_refusals_are_tokens_of_the_answer(fields):
    parsed = chat(delta(**fields))

    assert parsed.stamps_ns == [100 * MS]
    assert parsed.first_answer_ns == 100 * MS


def test_a_tool_call_without_name_or_arguments_is_no_token():
    assert chat(delta(tool_calls=[{"index": 0, "id": "1"}]), delta(content="a")).stamps_ns == [
        110 * MS
    ]


def test_usage_in_a_last_chunk_without_choices_is_the_servers_count():
    parsed = completions(
        text("a"), text("b", "length", usage=None), {"choices": [], "usage": usage(2, prompt=9)}
    )

    assert (parsed.prompt_tokens, parsed.output_tokens) == (9, 2)
    assert parsed.chunk_tokens_source == "chunks"


def test_usage_in_every_chunk_gives_the_tokens_of_each_chunk():
    parsed = completions(
        text("abcd", usage=usage(4)),
        text("e", usage=usage(5)),
        text("fgh", "length", usage=usage(8)),
        {"choices": [], "usage": usage(8)},
    )

    assert parsed.chunk_tokens == [4, 1, 3]
    assert parsed.chunk_tokens_source == "usage"
    assert parsed.output_tokens == 8


def test_with_running_usage_a_token_that_shows_no_text_yet_is_a_token():
    parsed = completions(
        text("", usage=usage(1)), text("é", usage=usage(2)), text("", "stop", usage=usage(3))
    )

    assert parsed.stamps_ns == [100 * MS, 110 * MS, 120 * MS]
    assert parsed.chunk_tokens == [1, 1, 1]


def test_with_running_usage_an_empty_chunk_that_adds_no_token_is_none():
    parsed = chat(
        delta(role="assistant", content="", usage=usage(0)),
        delta(content="a", usage=usage(1)),
        delta(content="", usage=usage(1)),
        delta(content="b", usage=usage(2)),
    )

    assert parsed.stamps_ns == [110 * MS, 130 * MS]
    assert parsed.chunk_tokens == [1, 1]


def test_usage_beside_the_finish_reason_alone_adds_no_chunk():
    parsed = chat(delta(content="a"), delta(content="b"), delta("stop", usage=usage(2)))

    assert parsed.output_chunks == 2
    assert parsed.output_tokens == 2


def test_usage_sent_twice_counts_once():
    last = {"choices": [], "usage": usage(2)}
    parsed = completions(text("a"), text("b", "length", usage=usage(2)), last, last)

    assert parsed.output_tokens == 2
    assert parsed.output_chunks == 2


def test_the_same_total_in_every_chunk_is_no_running_count():
    parsed = completions(text("ab", usage=usage(4)), text("ab", "length", usage=usage(4)))

    assert parsed.chunk_tokens == [2, 2]
    assert parsed.chunk_tokens_source == "estimate"


def test_token_ids_without_text_are_tokens():
    message = {"choices": [{"index": 0, "text": "", "token_ids": [17]}]}

    assert completions(message, text("a")).stamps_ns == [100 * MS, 110 * MS]


def test_cached_and_reasoning_tokens_are_kept_where_told():
    details = {
        "prompt_tokens_details": {"cached_tokens": 6},
        "completion_tokens_details": {"reasoning_tokens": 1, "audio_tokens": None},
    }
    parsed = chat(delta(content="a"), {"choices": [], "usage": usage(1, **details)})

    assert parsed.cached_tokens == 6
    assert parsed.reasoning_tokens == 1


@pytest.mark.parametrize("details", [None, {}, {"cached_tokens": None}])
def test_cached_tokens_that_nobody_told_are_unknown_not_zero(details):
    parsed = chat(
        delta(content="a"), {"choices": [], "usage": usage(1, prompt_tokens_details=details)}
    )

    assert parsed.cached_tokens is None


def test_without_usage_the_count_is_that_of_chunks_and_the_reported_one_is_unknown():
    parsed = completions(text("a"), text("b", "stop"))

    assert parsed.output_tokens is None
    assert parsed.output_chunks == 2
    assert parsed.chunk_tokens_source == "chunks"


def test_a_total_that_differs_from_the_chunks_is_shared_out_by_text():
    parsed = completions(
        text("aaaa"), text("aa"), text("aa", "length"), {"choices": [], "usage": usage(16)}
    )

    assert parsed.chunk_tokens == [8, 4, 4]
    assert parsed.chunk_tokens_source == "estimate"


def test_a_tokenizer_counts_chunks_and_the_whole_where_usage_does_not_run():
    parsed = completions(
        text("a b"),
        text(" c", "length"),
        {"choices": [], "usage": usage(9)},
        count=lambda piece: len(piece.split()),
    )

    assert parsed.chunk_tokens == [2, 1]
    assert parsed.chunk_tokens_source == "tokenizer"
    assert parsed.output_tokenized == 3
    assert parsed.output_tokens == 9


def test_a_document_that_is_not_streamed_is_one_chunk_at_its_end():
    body = json.dumps(text("abc", "length") | {"usage": usage(3)}).encode()
    parsed = parse_request(recorded(body[:20], body[20:]), "completions")

    assert parsed.stamps_ns == [110 * MS]
    assert parsed.chunk_tokens == [3]
    assert parsed.outcome == "ok"


def test_a_chat_document_is_read_from_its_message():
    message = {"role": "assistant", "content": "42", "reasoning_content": "hm"}
    body = json.dumps(
        {"choices": [{"message": message, "finish_reason": "stop"}], "usage": usage(5)}
    ).encode()
    parsed = parse_request(recorded(b"\n" + body), "chat")

    assert parsed.chunk_tokens == [5]
    assert parsed.first_answer_ns == 100 * MS


def test_a_document_that_broke_off_gives_no_tokens():
    parsed = parse_request(recorded(b'{"choices": [', outcome="reset"), "completions")

    assert parsed.outcome == "failed_reset"
    assert parsed.output_chunks == 0


@pytest.mark.parametrize("spelling", [r"\ud83d", "NaN"], ids=["lone surrogate", "NaN"])
def test_what_only_lenient_readers_accept_is_still_read(spelling):
    value = f'"{spelling}"' if spelling != "NaN" else '"a", "logprob": NaN'
    event = b'data: {"choices":[{"text":' + value.encode() + b',"finish_reason":"stop"}]}\n\n'

    assert parse_request(recorded(event), "completions").output_chunks == 1


SHAPES = st.lists(
    st.sampled_from(
        [
            text("a"),
            text(" bc"),
            text(""),
            text("d", usage=usage(3)),
            text("é€"),
            {"choices": [], "usage": usage(4)},
            {"error": {"message": "no"}},
            {"note": 1},
        ]
    ),
    max_size=8,
)
MARKS = st.sampled_from([b"", b": ping\n\n", b"event: message\n"])


@given(shapes=SHAPES, mark=MARKS, cuts=st.lists(st.integers(0, 600), max_size=9))
def test_parsing_does_not_depend_on_how_the_bytes_were_cut(shapes, mark, cuts):
    body = b"".join(mark + fragment for fragment in sse(*shapes))
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    fragments = [body[start:end] for start, end in pairwise(places)]
    whole = parse_request(recorded(body), "completions")
    cut = parse_request(recorded(*fragments), "completions")

    assert replace(cut, stamps_ns=[], first_answer_ns=None) == replace(
        whole, stamps_ns=[], first_answer_ns=None
    )
    assert len(cut.stamps_ns) == len(whole.stamps_ns)
    assert cut.stamps_ns == sorted(cut.stamps_ns)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "choices",
                    "usage",
                    "text",
                    "delta",
                    "content",
                    "error",
                    "tool_calls",
                    "completion_tokens",
                    "finish_reason",
                    "function",
                    "message",
                    "object",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(messages=st.lists(JSON, max_size=4), dialect=st.sampled_from(["completions", "chat"]))
def test_no_json_that_a_server_can_send_stops_the_parser(messages, dialect):
    streamed = parse_request(recorded(*sse(*messages)), dialect)
    document = parse_request(recorded(json.dumps(messages[:1]).encode()), dialect)

    assert len(streamed.chunk_tokens) == len(streamed.stamps_ns)
    assert document.outcome == "failed_in_band"


@given(body=st.binary(max_size=60), dialect=st.sampled_from(["completions", "chat"]))
def test_no_bytes_that_a_server_can_send_stop_the_parser(body, dialect):
    parsed = parse_request(recorded(body), dialect)

    assert parsed.outcome in ("failed_in_band", "truncated")


def test_deeply_nested_brackets_are_an_unreadable_answer():
    assert "unreadable" in parse_request(recorded(b"[" * 200_000), "chat").error


def run_of(*requests: RawRequest) -> RawRun:
    return RawRun(
        header={"dialect": "completions"},
        anchor_monotonic_ns=0,
        anchor_unix_ns=0,
        zero_ns=0,
        started_ns=0,
        ended_ns=0,
        complete=True,
        warmup_converged=None,
        warmup_requests=0,
        window=None,
        client={},
        connections=(),
        requests=requests,
    )


def test_a_runs_columns_hold_one_row_per_request_and_its_gaps_between_offsets():
    columns = parse_run(
        run_of(
            recorded(*sse(text("a"), text("b"), text("c", "length"))),
            recorded(sequence=1, outcome="not_sent", status=None, sent_ns=None, done_ns=None),
            recorded(*sse(text("a"), text("b", "length")), sequence=2),
        )
    )

    assert columns.outcome == ["ok", "not_sent", "ok"]
    assert list(columns.gap_offsets) == [0, 2, 2, 3]
    assert list(columns.gap_us) == [10_000, 10_000, 10_000]
    assert list(columns.chunk_offsets) == [0, 3, 3, 5]
    assert columns.first_token_ns == [100 * MS, None, 100 * MS]
    assert columns.last_token_ns == [120 * MS, None, 110 * MS]
    assert columns.sent_ns == [MS, None, MS]
    assert columns.prompt == [5, 5, 5]
    assert columns.prompt_tokens_asked == [8, 8, 8]


def test_a_run_without_requests_has_empty_columns():
    assert parse_run(run_of()).lists() == Columns().lists()


def test_every_column_of_a_run_has_one_value_per_request():
    lists = parse_run(run_of(recorded(*sse(text("a"))), recorded())).lists()
    flat = ("gap_us", "gap_offsets", "chunk_tokens", "chunk_offsets")

    assert {len(values) for name, values in lists.items() if name not in flat} == {2}
