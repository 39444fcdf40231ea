"""Which requests a rule covers, and each failure as a client sees it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.rehearsal import Failure, Rule, SettingsError

FAILURE = Failure(kind="reset")


def rule(**failure):
    where = {k: failure.pop(k) for k in ("requests", "every", "first") if k in failure}
    return [{**where, "failure": failure}]


def covered(rule, count=100):
    return [n for n in range(count) if rule.covers(n, reused=False, seed="s")]


def test_a_rule_without_conditions_covers_every_request():
    assert covered(Rule(failure=FAILURE)) == list(range(100))


@given(every=st.integers(1, 20), first=st.integers(0, 50), after=st.integers(0, 50))
def test_conditions_hold_together(every, first, after):
    rule = Rule(every=every, first=first, after=after, failure=FAILURE)

    assert covered(rule) == [
        n for n in range(100) if after <= n < first and (n + 1) % every == 0
    ]


def test_a_rule_covers_listed_requests_only():
    assert covered(Rule(requests=(3, 5), failure=FAILURE)) == [3, 5]


def test_chance_depends_on_the_seed_and_the_number_alone():
    rule = Rule(probability=0.3, failure=FAILURE)

    assert covered(rule, 2000) == covered(rule, 2000)
    assert 500 < len(covered(rule, 2000)) < 700
    assert covered(rule) != [n for n in range(100) if rule.covers(n, reused=False, seed="t")]


def test_a_rule_for_reused_connections_spares_fresh_ones():
    rule = Rule(reused_only=True, failure=FAILURE)

    assert not rule.covers(0, reused=False, seed="s")
    assert rule.covers(0, reused=True, seed="s")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "status", "at_token": 1}, "use 'error'"),
        ({"kind": "error"}, "needs a number"),
        ({"kind": "stop", "at_token": 0}, "at least 1"),
        ({"kind": "status", "status": 200}, "at least 400"),
        ({"kind": "explode"}, "needs 'status' or 'reset'"),
    ],
)
def test_a_failure_that_means_nothing_is_refused(fields, message):
    with pytest.raises(SettingsError, match=message):
        Failure(**fields)


def test_a_rule_that_does_nothing_is_refused():
    with pytest.raises(SettingsError, match="does nothing"):
        Rule(every=2)


def test_a_reset_before_the_first_byte_leaves_nothing(answer):
    seen = answer(rules=rule(kind="reset"))

    assert (seen.ended, seen.raw) == ("reset", b"")


def test_a_reset_after_the_headers_leaves_the_headers(answer):
    seen = answer(rules=rule(kind="reset", at_token=0))

    assert (seen.ended, seen.status, seen.body) == ("reset", 200, b"")


def test_a_reset_in_mid_stream_comes_after_so_many_tokens(serve, connect):
    server = serve(rules=rule(kind="reset", at_token=2))
    seen = connect(server).stream()

    assert seen.ended == "reset"
    assert len(seen.texts) == 2
    assert server.truth().requests[0].outcome == "reset"


def test_a_close_before_the_first_byte_is_an_end_of_file(answer):
    seen = answer(rules=rule(kind="close"))

    assert (seen.ended, seen.raw) == ("eof", b"")


def test_a_close_in_mid_stream_leaves_the_body_unfinished(answer):
    seen = answer(rules=rule(kind="close", at_token=3))

    assert seen.ended == "eof"
    assert len(seen.texts) == 3
    assert not seen.raw.endswith(b"0\r\n\r\n")


def test_a_request_can_hang_without_any_answer(serve, connect):
    client = connect(serve(rules=rule(kind="hang")))
    client.send("POST", "/v1/completions", {"prompt": [1], "stream": True})

    assert client.read(timeout_s=0.2).raw == b""


def test_a_stream_can_hang_after_some_tokens(serve, connect):
    client = connect(serve(rules=rule(kind="hang", at_token=2)))
    client.send("POST", "/v1/completions", {"prompt": [1], "stream": True})

    seen = client.read(timeout_s=0.4)

    assert seen.ended == "timeout"
    assert len(seen.texts) == 2


def test_a_stream_can_pause_and_go_on(serve, connect):
    server = serve(rules=rule(kind="pause", at_token=2, for_ms=120))
    seen = connect(server).stream(max_tokens=5)

    times = server.truth().requests[0].token_times_ns
    assert len(seen.texts) == 5
    assert times[2] - times[1] > 100e6


def test_a_pause_longer_than_the_answer_delays_its_end(serve, connect):
    server = serve(rules=rule(kind="pause", at_token=1, for_ms=150))
    begin = time.monotonic()
    seen = connect(server).stream()

    assert seen.events[-1] == "[DONE]"
    assert time.monotonic() - begin > 0.15


@pytest.mark.parametrize(("as_event", "lead"), [(False, "data: "), (True, "event: error\n")])
def test_an_error_can_come_inside_a_stream_of_status_200(answer, as_event, lead):
    rules = rule(kind="error", at_token=2, as_event=as_event, message="out of memory")
    seen = answer(rules=rules)

    blocks = seen.body.decode().split("\n\n")
    assert seen.status == 200
    assert blocks[2].startswith(lead + ("data: " if as_event else ""))
    assert '"message":"out of memory"' in blocks[2]
    assert blocks[3] == "data: [DONE]"


def test_an_error_can_end_the_stream_without_done(answer):
    seen = answer(rules=rule(kind="error", at_token=0, done_after=False))

    assert len(seen.events) == 1
    assert "error" in seen.chunks[0]


def test_an_event_can_be_garbage_in_an_otherwise_good_stream(answer):
    seen = answer(rules=rule(kind="garbage", at_token=2))

    assert seen.events[2] == '{"id": "broken", "choices": ['
    assert seen.events[-1] == "[DONE]"
    assert len(seen.events) == 6


def test_a_stream_can_end_cleanly_but_early(answer):
    seen = answer(
        {"stream_options": {"include_usage": True}}, rules=rule(kind="truncate", at_token=2)
    )

    assert seen.raw.endswith(b"0\r\n\r\n")
    assert len(seen.events) == 2
    assert {chunk["choices"][0]["finish_reason"] for chunk in seen.chunks} == {None}


def test_an_answer_can_stop_early_by_itself(answer):
    seen = answer(
        {"stream_options": {"include_usage": True}}, rules=rule(kind="stop", at_token=2)
    )

    assert seen.chunks[1]["choices"][0]["finish_reason"] == "stop"
    assert seen.chunks[-1]["usage"]["completion_tokens"] == 2


@pytest.mark.parametrize("status", [400, 429, 500, 503])
def test_a_request_can_be_answered_by_an_http_error(answer, status):
    seen = answer(rules=rule(kind="status", status=status, retry_after_s=7))

    assert seen.status == status
    assert seen.headers["retry-after"] == "7"
    assert seen.json["error"]["message"] == "rehearsed failure"


def test_an_http_error_can_be_a_proxys_html_page(answer):
    seen = answer(rules=rule(kind="status", status=502, body="html"))

    assert seen.headers["content-type"] == "text/html"
    assert b"<h1>Bad Gateway</h1>" in seen.body


def test_an_http_error_can_be_empty(answer):
    assert answer(rules=rule(kind="status", body="empty")).headers["content-length"] == "0"


def test_the_connection_lives_on_after_an_http_error(serve, connect):
    client = connect(serve(rules=rule(requests=[0], kind="status")))

    assert [client.stream().status, client.stream().status] == [503, 200]


def test_every_third_request_fails(serve, connect):
    client = connect(serve(rules=rule(every=3, kind="status", status=500)))

    assert [client.stream().status for _ in range(6)] == [200, 200, 500] * 2


def test_a_rule_can_change_the_shape_of_some_streams(serve, connect):
    rules = [{"requests": [1], "stream": {"done": False, "finish_reason": False}}]
    client = connect(serve(rules=rules))

    whole, bare = client.stream(), client.stream()

    assert whole.events[-1] == "[DONE]"
    assert "[DONE]" not in bare.events
    assert bare.chunks[-1]["choices"][0]["finish_reason"] is None


def test_a_reused_connection_can_be_closed_before_the_answer(serve, connect):
    client = connect(serve(rules=[{"reused_only": True, "failure": {"kind": "close"}}]))

    first, second = client.stream(), client.stream()

    assert first.events[-1] == "[DONE]"
    assert (second.ended, second.raw) == ("eof", b"")


@pytest.mark.parametrize(
    ("failure", "status", "ended"),
    [
        ({"kind": "error", "at_token": 1, "status": 500}, 500, "open"),
        ({"kind": "garbage", "at_token": 1}, 200, "open"),
        ({"kind": "reset", "at_token": 1}, None, "reset"),
        ({"kind": "close", "at_token": 1}, None, "eof"),
    ],
)
def test_answers_that_are_not_streamed_fail_too(answer, failure, status, ended):
    seen = answer({"stream": False}, rules=rule(**failure))

    assert seen.ended == ended
    assert (seen.status if seen.raw else None) == status


def test_a_whole_answer_can_be_cut_short_of_its_stated_length(answer):
    seen = answer({"stream": False}, rules=rule(kind="truncate", at_token=1))

    assert seen.ended == "eof"
    assert len(seen.body) < int(seen.headers["content-length"])


def test_the_engine_forgets_a_request_whose_answer_was_cut(serve, connect):
    server = serve(rules=rule(kind="truncate", at_token=1))
    connect(server).stream(max_tokens=100_000)

    assert server.now(lambda: server.server.engine.scheduler.running) == []
