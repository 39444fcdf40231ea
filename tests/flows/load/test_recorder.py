from array import array

import pytest

from flows.load.exchange import Exchange
from flows.load.pacing import Start, Unsent
from flows.load.recorder import Recorder
from flows.load.spool import Spool


@pytest.fixture
def spool(tmp_path):
    with Spool(tmp_path / "raw") as spool:
        yield spool


@pytest.fixture
def exchange(a_plan):
    def of(sequence, *, pieces=(), scheduled_ns=0, slot_free_ns=None, sent_ns=None):
        request = a_plan.planned(sequence)
        start = Start(
            request=request,
            phase="measured",
            scheduled_ns=scheduled_ns,
            slot_free_ns=slot_free_ns,
        )
        found = Exchange(start, scheduled_ns)
        found.sent_ns = sent_ns
        found.pieces.extend(pieces)
        found.stamps_ns.extend(range(len(found.pieces)))
        return found

    return of


def test_the_spool_gives_back_what_was_put_in_any_order(spool):
    answers = [([b"a" * n, b"", b"b\n"], array("q", [n, 2**40, n])) for n in range(5)]

    places = [spool.put(*one) for one in answers]

    assert [spool.get(place) for place in reversed(places)] == answers[::-1]


def test_an_answer_without_a_body_takes_no_room(spool):
    assert spool.get(spool.put([], array("q"))) == ([], array("q"))


def test_the_spool_leaves_nothing_behind(spool, tmp_path):
    spool.put([b"x"], array("q", [1]))

    assert list(tmp_path.iterdir()) == []


def test_requests_come_back_in_plan_order_from_memory_and_spool_alike(spool, exchange):
    recorder = Recorder(spool)
    for sequence in (3, 0, 2):
        recorder.add(exchange(sequence, pieces=[b"%d" % sequence]), "complete", "", 9)
    recorder.put_one_aside(is_busy=False)
    recorder.put_one_aside(is_busy=True)
    unsent = Unsent(start=exchange(1).start, reason="interrupted")

    rows = list(recorder.requests(iter([unsent])))

    assert [row.sequence for row in rows] == [0, 1, 2, 3]
    assert [b"".join(row.fragments) for row in rows] == [b"0", b"", b"2", b"3"]
    assert [row.outcome for row in rows] == ["complete", "not_sent", "complete", "complete"]
    assert rows[1].error == "interrupted"
    assert rows[1].done_ns is None


def test_send_lag_counts_from_the_schedule_or_from_the_slot_if_that_was_later(spool, exchange):
    recorder = Recorder(spool)
    recorder.add(exchange(0, scheduled_ns=100, sent_ns=130), "complete", "", 9)
    recorder.add(exchange(1, scheduled_ns=100, slot_free_ns=300, sent_ns=310), "reset", "", 9)
    recorder.add(exchange(2, scheduled_ns=100), "connect", "refused", 9)

    assert recorder.send_lags_ns() == [30, 10]


def test_a_request_sent_twice_is_not_called_late(spool, exchange):
    recorder = Recorder(spool)
    again = exchange(0, scheduled_ns=100, sent_ns=9_000)
    again.reconnected = True
    recorder.add(again, "complete", "", 9)

    assert recorder.send_lags_ns() == []
