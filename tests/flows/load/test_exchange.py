from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.load.exchange import Exchange
from flows.load.pacing import Start

CHUNKED = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)
CRLF_EVENT = b"data: 10\r\n\r\n"
BODY = b'data: {"a": 1}\n\n' + CRLF_EVENT + b": a comment 0\r\n\r\n" + b"data: [DONE]\n\n"


def chunk(data, extension=b""):
    return b"%x%b\r\n%b\r\n" % (len(data), extension, data)


CHUNKS = chunk(BODY[:9]) + chunk(BODY[9:30], b";a=b") + chunk(BODY[30:])
ANSWERS = {
    "chunked": CHUNKED + CHUNKS + b"0\r\n\r\n",
    "trailers": CHUNKED + CHUNKS + b"0\r\nx-took: 3\r\ncontent-type: no\r\n\r\n",
    "long zero": CHUNKED + CHUNKS + b"0000;last\r\n\r\n",
    "length": b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n"
    b"content-length: %d\r\n\r\n" % len(BODY) + BODY,
    "informational first": b"HTTP/1.1 100 Continue\r\n\r\n"
    b"HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n" + CHUNKED + CHUNKS + b"0\r\n\r\n",
}


def exchange():
    return Exchange(Start(request=None, phase="measured", scheduled_ns=0), 0)


@pytest.mark.parametrize("name", ANSWERS)
@given(cuts=st.sets(st.integers(1, 400)))
def test_wherever_reads_split_an_answer_it_is_the_same_and_ends_with_its_last_byte(name, cuts):
    whole, of = ANSWERS[name], exchange()
    edges = [0, *sorted(cut for cut in cuts if cut < len(whole)), len(whole)]

    ended = [
        of.take(whole[start:end], number) for number, (start, end) in enumerate(pairwise(edges))
    ]

    assert ended == [False] * (len(ended) - 1) + [True]
    assert b"".join(of.pieces) == BODY
    assert len(of.stamps_ns) == len(of.pieces)
    assert (of.status, of.content_type) == (200, "text/event-stream")
    assert of.may_be_followed()
    assert not of.fault


@given(cuts=st.sets(st.integers(1, 400)))
def test_each_piece_has_the_stamp_of_the_read_that_brought_it(cuts):
    whole, of = ANSWERS["chunked"], exchange()
    edges = [0, *sorted(cut for cut in cuts if cut < len(whole)), len(whole)]

    for number, (start, end) in enumerate(pairwise(edges)):
        before = len(of.pieces)
        of.take(whole[start:end], 1_000 + number)
        assert set(of.stamps_ns[before:]) <= {1_000 + number}

    assert of.first_byte_ns == 1_000


def test_several_messages_in_one_read_share_its_stamp():
    of = exchange()

    of.take(CHUNKED + chunk(b"a") + chunk(b"b"), 7)

    assert of.pieces == [b"a", b"b"]
    assert list(of.stamps_ns) == [7, 7]


def test_a_head_alone_is_no_piece():
    of = exchange()

    assert not of.take(CHUNKED, 5)
    assert not of.take(chunk(b"a"), 9)

    assert of.first_byte_ns == 5
    assert list(of.stamps_ns) == [9]


@pytest.mark.parametrize(
    ("answer", "may_be_followed"),
    [
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 0\r\n\r\n", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 0\r\nconnection: keep-alive\r\n\r\n", True),
        (b"HTTP/1.1 304 Not Modified\r\n\r\n", True),
    ],
)
def test_the_servers_word_decides_whether_a_connection_is_kept(answer, may_be_followed):
    of = exchange()

    assert of.take(answer, 0)
    assert of.may_be_followed() is may_be_followed


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\ntransfer-encoding: identity\r\n\r\n",
    ],
)
def test_a_body_without_a_length_ends_only_with_the_connection(head):
    of = exchange()

    assert not of.take(head + b"some", 0)
    assert not of.take(b" more", 1)

    assert of.ends_with_the_connection()
    assert b"".join(of.pieces) == b"some more"


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200", CHUNKED, b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\n"]
)
def test_an_unfinished_answer_does_not_end_with_the_connection(answer):
    of = exchange()
    if answer:
        of.take(answer, 0)

    assert not of.ends_with_the_connection()


@pytest.mark.parametrize(
    "answer",
    [
        b"220 mail.example ESMTP\r\n",
        CHUNKED + b"zz\r\nnot hexadecimal",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: h2c\r\nconnection: upgrade\r\n\r\n\0\1",
    ],
)
def test_what_is_not_http_is_a_fault(answer):
    of = exchange()

    assert of.take(answer, 0)
    assert "not HTTP/1.1" in of.fault
    assert not of.may_be_followed()


def test_a_second_answer_is_left_out_and_spoils_the_connection():
    of = exchange()

    of.take(ANSWERS["length"] + ANSWERS["chunked"], 0)

    assert of.is_ended
    assert not of.fault
    assert b"".join(of.pieces) == BODY
    assert not of.may_be_followed()


def test_garbage_behind_an_answer_spoils_the_connection_and_not_the_answer():
    of = exchange()

    assert of.take(ANSWERS["length"] + b"\0\0\0", 0)

    assert not of.fault
    assert b"".join(of.pieces) == BODY
    assert not of.may_be_followed()


def test_a_request_is_never_sent_after_its_answer_began():
    of = exchange()
    of.sent_ns = 900

    of.take(CHUNKED, 850)

    assert of.sent_ns == 850


@pytest.mark.parametrize(
    ("is_on_kept", "reconnected", "answer", "again"),
    [
        (True, False, b"", True),
        (False, False, b"", False),
        (True, True, b"", False),
        (True, False, b"HTTP/1.1 2", False),
    ],
)
def test_only_an_unanswered_request_on_a_kept_connection_may_be_sent_again_and_once(
    is_on_kept, reconnected, answer, again
):
    of = exchange()
    of.is_on_kept, of.reconnected = is_on_kept, reconnected
    if answer:
        of.take(answer, 0)

    assert of.may_be_sent_again() is again
