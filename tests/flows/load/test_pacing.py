import heapq

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.load.pacing import Pacing
from flows.load.plan import Endpoint, Plan

ENDPOINT = Endpoint(url="http://127.0.0.1")
ZERO_NS = 1_000_000


@pytest.fixture(scope="session")
def pacing(a_plan):
    def of(requests, **changes):
        changes.setdefault("arrival", "open")
        changes.setdefault("concurrency", None)
        changes.setdefault("measured_requests", len(requests))
        plan = Plan(header=a_plan.header([ENDPOINT], **changes), requests=tuple(requests))
        found = Pacing(plan)
        found.begin(ZERO_NS)
        return found

    return of


def played(pacing, service_ns, *, fails=lambda request: False, late_ns=0):
    """Play a run; returns (start, begun, done) of each request, begun `late_ns` late."""
    now_ns, running, found = ZERO_NS, [], []
    while True:
        for start in pacing.due(now_ns):
            done_ns = now_ns + service_ns(start.request)
            heapq.heappush(running, (done_ns, start.request.sequence, start))
            found.append((start, now_ns, done_ns))
        if pacing.is_finished(now_ns):
            return found
        wake_ns = pacing.wake_ns(now_ns)
        times_ns = [running[0][0]] if running else []
        if wake_ns is not None:
            times_ns.append(wake_ns + late_ns)
        now_ns = max(now_ns, min(times_ns))
        while running and running[0][0] <= now_ns:
            done_ns, _, start = heapq.heappop(running)
            is_complete = not fails(start.request)
            pacing.ended(start, done_ns=done_ns, is_complete=is_complete)


@pytest.mark.parametrize(
    ("arrival", "concurrency"), [("closed", 4), ("open", 4), ("open", None)]
)
def test_nothing_is_due_before_the_schedules_zero(a_plan, pacing, arrival, concurrency):
    at_ns = 0 if arrival == "open" else None
    of = pacing(
        [a_plan.planned(n, at_ns=at_ns) for n in range(8)],
        arrival=arrival,
        concurrency=concurrency,
    )

    assert list(of.due(ZERO_NS - 1)) == []
    assert of.wake_ns(ZERO_NS - 1) == ZERO_NS
    due_ns = [start.scheduled_ns for start in of.due(ZERO_NS)]
    assert due_ns == [ZERO_NS] * (concurrency or 8)


def test_lateness_does_not_add_up(a_plan, pacing):
    requests = [a_plan.planned(n, at_ns=n * 1_000) for n in range(100)]

    found = played(pacing(requests), lambda _: 10, late_ns=900)

    assert [start.scheduled_ns for start, _, _ in found] == [
        ZERO_NS + n * 1_000 for n in range(100)
    ]
    assert max(begun - start.scheduled_ns for start, begun, _ in found) <= 900


def test_overload_shows_in_the_wait_from_the_scheduled_time(a_plan, pacing):
    requests = [a_plan.planned(n, at_ns=n * 10) for n in range(50)]

    found = played(pacing(requests, concurrency=1), lambda _: 20)

    waits = [begun - start.scheduled_ns for start, begun, _ in found]
    assert waits == [n * 10 for n in range(50)]
    assert [start.slot_free_ns for start, _, _ in found[1:]] == [
        done for _, _, done in found[:-1]
    ]


@given(
    gaps_ns=st.lists(st.integers(0, 100), max_size=40),
    services_ns=st.lists(st.integers(1, 500), min_size=40, max_size=40),
    cap=st.integers(1, 8),
    late_ns=st.integers(0, 50),
)
def test_under_a_cap_the_order_holds_and_a_bound_request_starts_when_a_slot_comes_free(
    a_plan, pacing, *, gaps_ns, services_ns, cap, late_ns
):
    at_ns, requests = 0, []
    for number, gap_ns in enumerate(gaps_ns):
        at_ns += gap_ns
        requests.append(a_plan.planned(number, at_ns=at_ns))
    of = pacing(requests, concurrency=cap)

    found = played(of, lambda request: services_ns[request.sequence], late_ns=late_ns)

    assert [start.request for start, _, _ in found] == requests
    assert of.in_flight == 0
    assert of.in_flight_peak <= cap
    ends_ns = {done for _, _, done in found}
    for start, begun_ns, _ in found:
        assert start.scheduled_ns == ZERO_NS + start.request.at_ns
        if start.slot_free_ns is not None:
            assert start.slot_free_ns in ends_ns
            assert start.scheduled_ns < start.slot_free_ns <= begun_ns
        assert begun_ns - max(start.scheduled_ns, start.slot_free_ns or 0) <= late_ns


@given(
    services_ns=st.lists(st.integers(1, 500), min_size=1, max_size=40),
    streams=st.integers(1, 8),
)
def test_a_closed_loop_hands_each_slot_over_the_moment_it_is_free(
    a_plan, pacing, services_ns, streams
):
    requests = [a_plan.planned(number) for number in range(len(services_ns))]
    of = pacing(requests, arrival="closed", concurrency=streams)

    found = played(of, lambda request: services_ns[request.sequence])

    ends_ns = sorted(done for _, _, done in found)
    starts_ns = [start.scheduled_ns for start, _, _ in found]
    assert starts_ns == ([ZERO_NS] * streams + ends_ns)[: len(requests)]
    assert [begun for _, begun, _ in found] == starts_ns
    assert of.in_flight_peak == min(streams, len(requests))


def test_a_later_turn_is_due_when_its_user_has_thought(a_plan, pacing):
    requests = [
        a_plan.planned(0, session=7, at_ns=0),
        a_plan.planned(1, session=7, turn=1, at_ns=None, think_ns=300),
        a_plan.planned(2, session=8, at_ns=50),
        a_plan.planned(3, session=7, turn=2, at_ns=None, think_ns=0),
    ]

    found = played(pacing(requests), lambda _: 100)

    due_ns = {start.request.sequence: start.scheduled_ns - ZERO_NS for start, _, _ in found}
    assert due_ns == {0: 0, 2: 50, 1: 400, 3: 500}


def test_in_a_closed_loop_a_thinking_user_holds_no_slot(a_plan, pacing):
    requests = [
        a_plan.planned(0, session=0),
        a_plan.planned(1, session=0, turn=1, think_ns=250),
        a_plan.planned(2, session=1),
        a_plan.planned(3, session=2),
    ]

    found = played(pacing(requests, arrival="closed", concurrency=1), lambda _: 100)

    due_ns = [(start.request.sequence, start.scheduled_ns - ZERO_NS) for start, _, _ in found]
    assert due_ns == [(0, 0), (2, 100), (3, 200), (1, 350)]


def test_a_failed_turn_ends_its_session(a_plan, pacing):
    requests = [
        a_plan.planned(0, session=0, at_ns=0),
        a_plan.planned(1, session=0, turn=1),
        a_plan.planned(2, session=0, turn=2),
        a_plan.planned(3, session=1, at_ns=5),
    ]
    of = pacing(requests)

    found = played(of, lambda _: 10, fails=lambda request: request.sequence == 0)

    assert [start.request.sequence for start, _, _ in found] == [0, 3]
    assert [unsent.start.request.sequence for unsent in of.unsent()] == [1, 2]
    assert {unsent.reason for unsent in of.unsent()} == {"turn 0 of its session failed"}


def test_drain_requests_flow_until_the_last_measured_one_has_ended(a_plan, pacing):
    requests = [a_plan.planned(n, at_ns=n * 10) for n in range(100)]

    found = played(pacing(requests, measured_requests=3), lambda _: 55)

    phases = [start.phase for start, _, _ in found]
    assert phases == ["measured"] * 3 + ["drain"] * 5
    assert list(pacing(requests, measured_requests=3).unsent()) == []


def test_an_interrupted_open_loop_accounts_for_every_planned_request(a_plan, pacing):
    requests = [a_plan.planned(n, at_ns=n * 10) for n in range(20)]
    of = pacing(requests, measured_requests=12, concurrency=2)

    begun = list(of.due(ZERO_NS + 45))
    of.stop("interrupted")
    for start in begun:
        of.ended(start, done_ns=ZERO_NS + 50, is_complete=False)

    assert [start.request.sequence for start in begun] == [0, 1]
    assert [unsent.start.request.sequence for unsent in of.unsent()] == list(range(2, 12))
    assert {unsent.start.phase for unsent in of.unsent()} == {"measured"}
    assert of.is_finished(ZERO_NS + 50)


def test_an_interrupted_session_leaves_its_later_turns_unsent(a_plan, pacing):
    requests = [
        a_plan.planned(0, session=0, at_ns=0),
        a_plan.planned(1, session=0, turn=1),
        a_plan.planned(2, session=1, at_ns=0),
        a_plan.planned(3, session=1, turn=1, think_ns=10**9),
    ]
    of = pacing(requests)

    first, second = of.due(ZERO_NS)
    of.ended(second, done_ns=ZERO_NS + 5, is_complete=True)
    of.stop("interrupted")
    of.ended(first, done_ns=ZERO_NS + 6, is_complete=False)

    unsent = [(one.start.request.sequence, one.reason) for one in of.unsent()]
    assert unsent == [(1, "interrupted"), (3, "interrupted")]
    assert of.is_finished(ZERO_NS + 6)


@given(
    turns=st.lists(st.integers(1, 4), min_size=1, max_size=8),
    failing=st.sets(st.integers(0, 31)),
    measured=st.integers(1, 40),
    arrival=st.sampled_from(["open", "closed"]),
    cap=st.integers(1, 3),
)
def test_planned_is_sent_plus_not_sent_in_every_phase_that_counts(
    a_plan, pacing, *, turns, failing, measured, arrival, cap
):
    requests = []
    for turn in range(max(turns)):
        for session, count in enumerate(turns):
            if turn < count:
                at_ns = session * 7 if arrival == "open" and turn == 0 else None
                number = len(requests)
                requests.append(
                    a_plan.planned(
                        number, session=session, turn=turn, at_ns=at_ns, think_ns=number % 3
                    )
                )
    of = pacing(requests, arrival=arrival, concurrency=cap, measured_requests=measured)

    found = played(of, lambda _: 10, fails=lambda request: request.sequence in failing)

    sent = [start for start, _, _ in found]
    unsent = [one.start for one in of.unsent()]
    sequences = [start.request.sequence for start in sent + unsent]
    assert len(sequences) == len(set(sequences))
    counted = sum(start.phase == "measured" for start in sent + unsent)
    assert counted == min(measured, len(requests))
    assert of.has_run_out() == (measured > len(requests))


@pytest.mark.parametrize(
    ("planned", "service_ns", "fell_early_ns"),
    [
        (100, 55, 0),  # requests came until the end
        (5, 55, 35),  # the last was due 40 after the first, the third was answered after 75
        (3, 55, 55),  # nothing was planned behind the measured ones
    ],
)
def test_how_long_the_last_measured_answer_outlasts_the_load_is_known(
    a_plan, pacing, planned, service_ns, fell_early_ns
):
    requests = [a_plan.planned(n, at_ns=n * 10) for n in range(planned)]
    of = pacing(requests, measured_requests=3)

    played(of, lambda _: service_ns)

    assert of.fell_early_ns == fell_early_ns


def test_an_interrupted_load_is_not_called_a_load_that_fell(a_plan, pacing):
    of = pacing([a_plan.planned(n, at_ns=n * 10) for n in range(4)])

    begun = list(of.due(ZERO_NS + 15))
    of.stop("interrupted")
    for start in begun:
        of.ended(start, done_ns=ZERO_NS + 500, is_complete=False)

    assert of.fell_early_ns == 0
