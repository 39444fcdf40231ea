"""Each knob of a stream's shape, as a client sees it on the socket."""

from __future__ import annotations

import json

import pytest


def test_a_plain_stream_has_one_event_per_token_and_ends_with_done(answer):
    seen = answer()

    assert seen.status == 200
    assert len(seen.texts) == 4
    assert [c["choices"][0]["finish_reason"] for c in seen.chunks] == [None] * 3 + ["length"]
    assert seen.events[-1] == "[DONE]"
    assert all("usage" not in chunk for chunk in seen.chunks)


def test_every_answer_says_that_it_is_a_rehearsal(answer, chat):
    for seen in (answer(), answer({"stream": False}), chat(), chat({"stream": False})):
        chunks = seen.chunks or [seen.json]

        assert seen.headers["x-runoff-rehearsal"] == "1"
        assert {chunk["system_fingerprint"] for chunk in chunks} == {"rehearsal"}


def test_the_same_prompt_gets_the_same_greedy_text_and_another_prompt_another(answer):
    first, second, other = answer(), answer(), answer({"prompt": [9, 9, 9]})

    assert first.texts == second.texts
    assert first.texts != other.texts
    assert len(set(first.texts)) > 1


def test_sampled_text_follows_the_request_seed(serve, connect):
    client = connect(serve())

    one = client.stream(temperature=1, seed=1).texts
    same = client.stream(temperature=1, seed=1).texts
    other = client.stream(temperature=1, seed=2).texts

    assert one == same != other


@pytest.mark.parametrize(("size", "counts"), [(2, [2, 2, 1]), (4, [4, 1]), (8, [5])])
def test_tokens_come_in_chunks_of_the_asked_size(serve, connect, size, counts):
    server = serve(stream={"tokens_per_chunk": size})

    seen = connect(server).stream(max_tokens=5)

    assert [len(text.split()) for text in seen.texts] == counts
    assert list(server.truth().requests[0].write_tokens[: len(counts)]) == counts


def test_the_first_chunk_can_hold_one_token_where_the_others_hold_three(answer):
    seen = answer({"max_tokens": 7}, stream={"tokens_per_chunk": 3, "first_chunk_tokens": 1})

    assert [len(text.split()) for text in seen.texts] == [1, 3, 3]


def test_speculative_steps_put_several_tokens_into_one_chunk(answer):
    seen = answer({"max_tokens": 7}, engine={"tokens_per_step": 3})

    assert [len(text.split()) for text in seen.texts] == [1, 3, 3]


def test_a_chat_stream_opens_with_an_empty_role_chunk(chat):
    seen = chat()

    assert seen.chunks[0]["object"] == "chat.completion.chunk"
    assert seen.chunks[0]["choices"][0]["delta"] == {"role": "assistant", "content": ""}
    assert all("content" in c["choices"][0]["delta"] for c in seen.chunks[1:])


@pytest.mark.parametrize(
    ("content", "delta"),
    [("null", {"role": "assistant", "content": None}), ("absent", {"role": "assistant"})],
)
def test_the_role_chunk_can_hold_null_or_no_content(chat, content, delta):
    seen = chat(stream={"role_content": content})

    assert seen.chunks[0]["choices"][0]["delta"] == delta


def test_a_chat_stream_can_go_without_role_chunk(chat):
    seen = chat(stream={"role_chunk": False})

    assert len(seen.chunks) == 6


def test_a_completion_stream_can_open_with_an_empty_chunk(answer):
    seen = answer(stream={"empty_first_chunk": True})

    assert seen.texts[0] == ""
    assert len(seen.texts) == 5


def test_the_first_empty_chunk_can_come_long_before_the_first_token(serve, connect):
    server = serve(
        stream={"empty_first_chunk": True, "first_chunk_at": "arrival"},
        steps={"prefill_base_ms": 100},
    )
    connect(server).stream()

    written = server.truth().requests[0].write_ns

    assert written[1] - written[0] > 90e6


def test_headers_come_at_once_or_wait_for_the_first_token(serve, connect):
    early, late = (
        connect(serve(stream={"headers_at": at}, steps={"prefill_base_ms": 60_000}))
        for at in ("arrival", "first_token")
    )
    for client in (early, late):
        client.send("POST", "/v1/completions", {"prompt": [1], "stream": True})

    assert early.read(until=b"\r\n\r\n").raw.endswith(b"\r\n\r\n")
    assert late.read(timeout_s=0.2).raw == b""


def test_chunks_without_text_come_between_the_others(answer, chat):
    plain = answer(stream={"empty_chunk_every": 2})
    null = chat(stream={"empty_chunk_every": 2, "role_chunk": False})

    assert [text == "" for text in plain.texts] == [False, False, True, False, False, True]
    contents = [chunk["choices"][0]["delta"]["content"] for chunk in null.chunks]
    assert contents.count(None) == 3


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_comes_first_in_its_own_field(chat, field):
    seen = chat(
        {"stream_options": {"include_usage": True}},
        stream={"reasoning_tokens": 4, "reasoning_field": field, "role_chunk": False},
    )

    deltas = [chunk["choices"][0]["delta"] for chunk in seen.chunks[:-1]]
    assert [set(delta) for delta in deltas] == [{field}] * 4 + [{"content"}] * 2
    usage = seen.chunks[-1]["usage"]
    assert usage["completion_tokens"] == 6
    assert usage["completion_tokens_details"] == {"reasoning_tokens": 4}


def test_reasoning_can_come_in_both_fields_at_once(chat):
    seen = chat(stream={"reasoning_tokens": 2, "reasoning_field": "both", "role_chunk": False})

    delta = seen.chunks[0]["choices"][0]["delta"]
    assert delta["reasoning"] == delta["reasoning_content"] != ""


def test_a_chunk_never_mixes_reasoning_and_answer(chat):
    seen = chat(
        stream={"reasoning_tokens": 3, "tokens_per_chunk": 2, "role_chunk": False},
    )

    deltas = [chunk["choices"][0]["delta"] for chunk in seen.chunks]
    assert [(set(d).pop(), len("".join(d.values()).split())) for d in deltas] == [
        ("reasoning_content", 2),
        ("reasoning_content", 1),
        ("content", 1),
        ("content", 2),
    ]


def test_tool_call_deltas_join_to_json_arguments(chat):
    seen = chat(stream={"tool_call": True, "role_chunk": False})

    calls = [c["choices"][0]["delta"]["tool_calls"][0] for c in seen.chunks]
    assert calls[0]["function"] == {"name": "look_up", "arguments": ""}
    arguments = json.loads("".join(call["function"]["arguments"] for call in calls))
    assert len(arguments["query"].split()) == 6
    assert seen.chunks[-1]["choices"][0]["finish_reason"] == "tool_calls"


def test_usage_comes_last_without_choices_when_asked(answer):
    seen = answer({"stream_options": {"include_usage": True}})

    assert seen.chunks[-1]["choices"] == []
    assert seen.chunks[-1]["usage"] == {
        "prompt_tokens": 4,
        "completion_tokens": 4,
        "total_tokens": 8,
    }


def test_usage_can_be_refused_though_asked(answer):
    seen = answer({"stream_options": {"include_usage": True}}, stream={"usage": "never"})

    assert all("usage" not in chunk for chunk in seen.chunks)


def test_usage_can_come_unasked(answer):
    assert answer(stream={"usage": "always"}).chunks[-1]["usage"]["completion_tokens"] == 4


def test_usage_can_come_in_every_chunk(answer):
    seen = answer({"stream_options": {"include_usage": True}}, stream={"usage": "continuous"})

    counts = [chunk["usage"]["completion_tokens"] for chunk in seen.chunks]
    assert counts == [1, 2, 3, 4, 4]


def test_a_client_can_ask_for_continuous_usage(answer):
    seen = answer({"stream_options": {"include_usage": True, "continuous_usage_stats": True}})

    assert [c["usage"]["completion_tokens"] for c in seen.chunks] == [1, 2, 3, 4, 4]


def test_usage_can_ride_on_the_chunk_with_the_finish_reason(answer):
    seen = answer(stream={"usage": "last_choice"})

    assert seen.chunks[-1]["choices"][0]["finish_reason"] == "length"
    assert seen.chunks[-1]["usage"]["completion_tokens"] == 4


def test_usage_can_be_null_before_its_chunk(answer):
    seen = answer(
        {"stream_options": {"include_usage": True}},
        stream={"usage_null": True},
    )

    assert [chunk["usage"] is None for chunk in seen.chunks] == [True] * 4 + [False]


def test_usage_can_be_wrong(answer):
    seen = answer(stream={"usage": "always", "usage_error_tokens": 4})

    assert seen.chunks[-1]["usage"]["completion_tokens"] == 8
    assert len(seen.texts) == 4


def test_the_finish_reason_can_be_missing(answer):
    seen = answer(stream={"finish_reason": False})

    assert {chunk["choices"][0]["finish_reason"] for chunk in seen.chunks} == {None}


def test_the_finish_reason_can_have_a_chunk_of_its_own(answer, chat):
    assert answer(stream={"finish_chunk": "separate"}).texts[-1] == ""
    last = chat(stream={"finish_chunk": "separate"}).chunks[-1]["choices"][0]
    assert (last["delta"], last["finish_reason"]) == ({}, "length")


def test_done_can_be_missing(answer):
    seen = answer(stream={"done": False})

    assert "[DONE]" not in seen.events
    assert len(seen.texts) == 4


@pytest.mark.parametrize(("name", "end"), [("crlf", b"\r\n"), ("cr", b"\r")])
def test_lines_can_end_otherwise(answer, name, end):
    body = answer(stream={"line_end": name}).body

    assert body.count(end * 2) == 5
    assert body.endswith(b"data: [DONE]" + end * 2)


def test_the_space_after_data_can_be_missing(answer):
    body = answer(stream={"space_after_colon": False}).body

    assert body.startswith(b'data:{"id"')


def test_the_last_event_can_lack_its_blank_line(answer):
    assert answer(stream={"bare_end": True}).body.endswith(b"}\n\ndata: [DONE]")


def test_data_can_span_two_lines(answer):
    blocks = answer(stream={"multiline_data": True}).body.decode().split("\n\n")

    lines = blocks[0].split("\n")
    assert [line[:6] for line in lines] == ["data: ", "data: "]
    assert json.loads("\n".join(line[6:] for line in lines))["choices"][0]["index"] == 0


def test_events_can_carry_other_fields(answer):
    body = answer(stream={"event_fields": True}).body

    assert body.startswith(b"event: message\nid: 1\ndata: {")


def test_comments_come_between_chunks(answer):
    blocks = answer(stream={"comment_every": 2}).body.split(b"\n\n")

    assert [block[:1] for block in blocks[:6]] == [b"d", b"d", b":", b"d", b"d", b":"]


def test_keep_alive_comments_come_until_the_first_token_only(answer):
    seen = answer(stream={"keep_alive_s": 0.02}, steps={"prefill_base_ms": 150})

    blocks = seen.body.split(b"\n\n")
    assert blocks[0] == b": keep-alive"
    last_comment = max(i for i, block in enumerate(blocks) if block.startswith(b":"))
    assert last_comment < min(i for i, block in enumerate(blocks) if block.startswith(b"d"))


@pytest.mark.parametrize("text", ["unicode", "escaped"])
def test_text_can_be_beyond_ascii_in_both_spellings(answer, text):
    seen = answer({"max_tokens": 64}, stream={"text": text})

    assert any(ord(letter) > 0xFFFF for letter in "".join(seen.texts))
    assert seen.body.isascii() is (text == "escaped")
    assert all(len(piece.split()) == 1 for piece in seen.texts)


def test_several_prompts_are_several_choices_in_one_stream(answer):
    seen = answer({"prompt": ["one two", [1, 2, 3]], "stream_options": {"include_usage": True}})

    indexes = [c["choices"][0]["index"] for c in seen.chunks if c["choices"]]
    assert sorted(indexes) == [0] * 4 + [1] * 4
    assert seen.chunks[-1]["usage"]["prompt_tokens"] == 5
    assert seen.chunks[-1]["usage"]["completion_tokens"] == 8
    assert seen.events.count("[DONE]") == 1


def test_a_hundred_thousand_tokens_arrive_complete(answer):
    seen = answer(
        {"max_tokens": 100_000, "stream_options": {"include_usage": True}},
        stream={"tokens_per_chunk": 5000},
        engine={"tokens_per_step": 5000, "token_budget": 2_000_000},
        steps={"decode_base_ms": 0},
    )

    assert sum(len(text.split()) for text in seen.texts) == 100_000
    assert seen.chunks[-1]["usage"]["completion_tokens"] == 100_000
