"""Times of several machines on one time line: differences stay, and the error is bounded."""

from __future__ import annotations

from array import array
from dataclasses import fields

from hypothesis import given
from hypothesis import strategies as st

from flows.bench.one_clock import Compared, moved
from flows.load.raw import Connection, RawRequest, RawRun
from flows.remote.clock import Offset, offset_of

NS = st.integers(min_value=0, max_value=10**15)
SMALL = st.integers(min_value=0, max_value=10**7)
TIMES = ("scheduled_ns", "slot_free_ns", "sent_ns", "first_byte_ns", "done_ns")


def request(at_ns: int, **changes) -> RawRequest:
    times = {name: at_ns + 10 * number for number, name in enumerate(TIMES)}
    return RawRequest(
        **{
            "sequence": 0,
            "phase": "measured",
            "session": 0,
            "turn": 0,
            "endpoint": 0,
            "prompt_id": 0,
            "prompt_tokens": 1,
            "output_tokens": 2,
            "connection": 0,
            "reused": True,
            "reconnected": False,
            "status": 200,
            "outcome": "complete",
            "error": "",
            "content_type": "",
            "fragments": [b"a", b"b"],
            "stamps_ns": array("q", [at_ns + 20, at_ns + 35]),
            **times,
            **changes,
        }
    )


def run_at(at_ns: int, requests: tuple[RawRequest, ...]) -> RawRun:
    return RawRun(
        header={},
        anchor_monotonic_ns=at_ns,
        anchor_unix_ns=5,
        zero_ns=at_ns,
        started_ns=at_ns - 5,
        ended_ns=at_ns + 100,
        complete=True,
        warmup_converged=None,
        warmup_requests=0,
        window=(at_ns, at_ns + 50),
        client={},
        connections=(
            Connection(
                id=0, endpoint=0, dns_us=None, connect_us=1.0, tls_us=None, opened_ns=at_ns
            ),
        ),
        requests=requests,
    )


@given(at_ns=NS, by_ns=st.integers(min_value=-(10**15), max_value=10**15))
def test_a_run_moved_in_time_is_the_run_that_was_measured_then(at_ns, by_ns):
    before, after = run_at(at_ns, (request(at_ns),)), run_at(at_ns + by_ns, ())

    run = moved(before, by_ns, (at_ns + by_ns, 5))

    assert run.requests == (request(at_ns + by_ns),)
    names = {field.name for field in fields(RawRun)} - {"requests"}
    assert {name: getattr(run, name) for name in names} == {
        name: getattr(after, name) for name in names
    }


def test_what_never_happened_has_no_time_afterwards_either():
    unsent = request(7, **dict.fromkeys(TIMES), stamps_ns=array("q"), fragments=[])

    run = moved(run_at(7, (unsent,)), 1000, (0, 0))

    assert run.requests == (unsent,)


@given(
    ahead_ns=st.integers(min_value=-(10**12), max_value=10**12),
    runs_apart_ns=st.integers(min_value=-(10**7), max_value=10**7),
    ways=st.lists(st.tuples(SMALL, SMALL), min_size=10, max_size=10),
    share=st.floats(min_value=0, max_value=1),
)
def test_a_time_of_the_load_is_never_further_off_than_the_stated_error(
    ahead_ns, runs_apart_ns, ways, share
):
    """Whatever the ways there and back take, and however the clocks run apart meanwhile."""

    def asked(truly_ahead_ns: int, rounds: list[tuple[int, int]]) -> Offset:
        here, left = [0], iter(rounds)

        def ask() -> int:
            there, back = next(left)
            answer = here[0] + there + truly_ahead_ns
            here[0] += there + back
            return answer

        return offset_of(ask, lambda: here[0])

    compared = Compared(
        before=asked(ahead_ns, ways[:5]), after=asked(ahead_ns + runs_apart_ns, ways[5:])
    )

    in_the_load = ahead_ns + share * runs_apart_ns
    assert abs(compared.ahead_ns - in_the_load) <= compared.error_ns + 2  # of rounding
