"""Events come out the same however the bytes of a stream were cut."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flows.load.sse import events


def one_by_one(body: bytes):
    """The body as single bytes, each stamped with its position."""
    return events([body[at : at + 1] for at in range(len(body))], range(len(body)))


def data_of(body: bytes) -> list[bytes]:
    return [data for _, data, _, _ in events([body], [7])]


def test_one_event_per_fragment_keeps_each_fragments_stamp():
    found = events([b"data: a\n\n", b"data: b\n\n"], [10, 20])

    assert found == [(b"", b"a", 10, True), (b"", b"b", 20, True)]


def test_several_events_in_one_fragment_share_its_stamp():
    found = events([b"data: a\n\ndata: b\n\n", b"data: c\n\n"], [10, 20])

    assert [(data, stamp) for _, data, stamp, _ in found] == [
        (b"a", 10),
        (b"b", 10),
        (b"c", 20),
    ]


@pytest.mark.parametrize("blank", [b"", b": note\n"], ids=["plain", "with a comment"])
def test_an_event_is_complete_with_the_byte_that_ends_its_data_line(blank):
    found = events([blank + b"data: a", b"bc\n", b"\n"], [10, 20, 30])

    assert found == [(b"", b"abc", 20, True)]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=["LF", "CRLF", "CR"])
def test_lines_end_in_lf_crlf_or_cr(end):
    body = end.join([b"data: a", b"", b"data: b", b"", b""])

    assert data_of(body) == [b"a", b"b"]


def test_data_lines_of_one_event_are_joined_by_a_line_feed():
    assert data_of(b'data: {"a":\ndata: 1}\n\n') == [b'{"a":\n1}']


def test_the_space_after_the_colon_is_optional_and_only_one_is_taken():
    assert data_of(b"data:a\n\ndata:  b\n\n") == [b"a", b" b"]


def test_comments_ids_and_retries_are_no_events():
    assert data_of(b": ping\n\nid: 4\nretry: 10\ndata: a\n\n: ping\n\n") == [b"a"]


def test_a_byte_order_mark_before_the_first_line_is_skipped():
    assert data_of(b"\xef\xbb\xbfdata: a\n\n") == [b"a"]


def test_an_events_name_is_kept_for_that_event_only():
    found = events([b"event: error\ndata: a\n\ndata: b\n\n"], [7])

    assert found == [(b"error", b"a", 7, True), (b"", b"b", 7, True)]


def test_a_field_called_error_is_an_event_of_that_name():
    assert events([b'error: {"code": 500}\n\n'], [7]) == [(b"error", b'{"code": 500}', 7, True)]


def test_the_last_event_counts_without_a_blank_line_behind_it():
    assert events([b"data: a\n\ndata: b\n"], [7])[-1] == (b"", b"b", 7, True)


def test_data_cut_off_inside_its_line_is_marked():
    assert events([b"data: a\n\n", b"data: b"], [7, 8])[-1] == (b"", b"b", 8, False)


def test_a_body_without_bytes_has_no_events():
    assert events([], []) == []


LINES = st.sampled_from(
    [
        b"data: x",
        b"data:y",
        b"data: {}",
        b"data",
        b": c",
        b"event: error",
        b"error: z",
        b"id: 1",
        b"",
        b"",
        b"",
        b"data: \xff\xfe",
    ]
)
ENDS = st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"])
BODIES = st.lists(st.tuples(LINES, ENDS), max_size=30).map(
    lambda lines: b"".join(line + end for line, end in lines)
)


@given(body=BODIES, cuts=st.lists(st.integers(0, 300), max_size=12))
@example(body=b"data: x\r\n\r\n", cuts=[8, 10])
@example(body=b"data: x\n\ndata: x\n\n", cuts=[9])
def test_cutting_the_bytes_elsewhere_changes_no_event_and_delays_it_to_its_last_byte(
    body, cuts
):
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    fragments = [body[start:end] for start, end in pairwise(places)]
    arrivals = [end - 1 for end in places[1:]]

    by_byte = one_by_one(body)
    by_fragment = events(fragments, arrivals)

    assert [event[:2] for event in by_fragment] == [event[:2] for event in by_byte]
    for (_, _, arrived, whole), (_, _, complete, whole_by_byte) in zip(
        by_fragment, by_byte, strict=True
    ):
        assert arrived == min(arrival for arrival in arrivals if arrival >= complete)
        assert whole == whole_by_byte


@given(
    payloads=st.lists(st.sampled_from([b"a", b'{"b": 1}', b"[DONE]"]), min_size=1),
    cuts=st.lists(st.integers(0, 300), max_size=12),
)
def test_a_plain_stream_gives_the_events_of_the_same_stream_with_a_comment(payloads, cuts):
    body = b"".join(b"data: " + payload + b"\n\n" for payload in payloads)
    places = sorted({0, len(body), *(cut for cut in cuts if cut < len(body))})
    fragments = [body[start:end] for start, end in pairwise(places)]
    stamps = list(range(len(fragments)))

    assert events(fragments, stamps) == events(
        [b": comment\n" + fragments[0], *fragments[1:]], stamps
    )
