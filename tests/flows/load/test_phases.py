import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.load.phases import Phases
from flows.load.plan import Endpoint, Warmup

ENDPOINT = Endpoint(url="http://127.0.0.1")
SECOND_NS = 1_000_000_000


@pytest.fixture(scope="session")
def phases(a_plan):
    def of(*, warmup=0, mode="fixed", arrival="open", concurrency=None, **changes):
        changes.setdefault("measured_requests", None if "duration_s" in changes else 200)
        head = a_plan.header(
            [ENDPOINT],
            warmup=Warmup(mode=mode, requests=warmup),
            arrival=arrival,
            concurrency=concurrency,
            **changes,
        )
        return Phases(head)

    return of


def tags(phases, count, *, step_ns=1):
    return [phases.tag(number * step_ns) for number in range(count)]


def test_250_requests_with_50_of_warm_up_are_200_measured(phases):
    found = tags(phases(warmup=50), 260)

    assert found == ["warmup"] * 50 + ["measured"] * 200 + ["drain"] * 10


def test_no_warm_up_discards_nothing_even_in_a_closed_loop(phases):
    assert tags(phases(arrival="closed", concurrency=16), 3) == ["measured"] * 3


def test_the_first_wave_of_a_closed_loop_never_counts(phases):
    of = phases(warmup=10, arrival="closed", concurrency=16, measured_requests=5)

    assert tags(of, 22) == ["warmup"] * 16 + ["measured"] * 5 + ["drain"]
    assert of.warmup_requests == 16


def test_a_cap_in_an_open_loop_makes_no_first_wave(phases):
    of = phases(warmup=2, concurrency=16, measured_requests=1)

    assert tags(of, 4) == ["warmup"] * 2 + ["measured", "drain"]


def test_what_warm_up_leaves_over_is_measured_as_well(phases):
    of = phases(warmup=100, mode="adaptive", measured_requests=200)

    before = tags(of, 30)
    of.converge()

    assert before == ["warmup"] * 30
    assert tags(of, 280) == ["measured"] * 270 + ["drain"] * 10


def test_convergence_inside_the_first_wave_waits_for_its_end(phases):
    of = phases(warmup=100, mode="adaptive", arrival="closed", concurrency=8)

    tags(of, 3)
    of.converge()

    assert tags(of, 6) == ["warmup"] * 5 + ["measured"]


def test_a_duration_counts_from_the_first_measured_request(phases):
    of = phases(warmup=2, duration_s=1.0)

    found = tags(of, 15, step_ns=SECOND_NS // 10)

    assert found == ["warmup"] * 2 + ["measured"] * 10 + ["drain"] * 3
    assert of.window == (SECOND_NS // 5, SECOND_NS // 10 * 11)


def test_a_run_is_over_when_the_last_measured_request_has_ended(phases):
    of = phases(measured_requests=2)

    tags(of, 3)
    assert not of.is_over(0)
    of.ended("measured")
    of.ended("drain")
    assert not of.is_over(0)
    of.ended("measured")
    assert of.is_over(0)


def test_a_window_of_time_is_over_only_when_its_time_is(phases):
    of = phases(duration_s=1.0)

    of.tag(0)
    of.ended("measured")

    assert not of.is_over(SECOND_NS - 1)
    assert of.is_over(SECOND_NS)


@given(
    warmup=st.integers(0, 50),
    measured=st.integers(1, 50),
    concurrency=st.integers(1, 30),
    converges_after=st.none() | st.integers(0, 60),
)
def test_phases_follow_one_another_and_no_measured_request_is_lost(
    phases, warmup, measured, concurrency, converges_after
):
    of = phases(
        warmup=warmup,
        mode="adaptive",
        arrival="closed",
        concurrency=concurrency,
        measured_requests=measured,
    )
    found = []
    for number in range(150):
        if number == converges_after:
            of.converge()
        found.append(of.tag(number))

    assert found == sorted(found, key=["warmup", "measured", "drain"].index)
    assert found.count("measured") >= measured
    assert found.count("warmup") + found.count("measured") == measured + max(
        warmup, concurrency if warmup else 0
    )
