import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.load.selfcheck import LoopLag, nearest_rank, p99_ms


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 0.99, None),
        ([5], 0.99, 5),
        (range(1, 101), 0.99, 99),
        (range(1, 102), 0.99, 100),
        (range(1, 101), 0.5, 50),
        ([3, 1, 2], 1.0, 3),
        ([3, 1, 2], 0.0, 1),
    ],
)
def test_nearest_rank_is_a_value_that_was_there(values, share, expected):
    assert nearest_rank(list(values), share) == expected


@given(st.lists(st.integers(), min_size=1), st.floats(0.01, 1))
def test_at_least_the_share_of_values_lies_at_or_below_the_nearest_rank(values, share):
    rank = nearest_rank(values, share)

    assert sum(value <= rank for value in values) >= share * len(values)


def test_nanoseconds_are_told_as_milliseconds():
    assert p99_ms([1_500_000]) == 1.5
    assert p99_ms([]) is None


def test_a_tick_on_time_has_no_lag():
    lag = LoopLag(0)

    lag.serve(lag.due_ns)

    assert lag.lags_ns == [0]


def test_the_ticks_that_a_stall_swallowed_count_as_late():
    lag = LoopLag(0)
    tick_ns = lag.due_ns

    lag.serve(5 * tick_ns)

    assert lag.lags_ns == [4 * tick_ns, 3 * tick_ns, 2 * tick_ns, tick_ns, 0]
    assert lag.due_ns == 6 * tick_ns
