"""Requests in flight are counted exactly, and Little's law holds by it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.stats.flight import (
    Little,
    block_means,
    littles_law,
    mean_in_flight,
    peak_in_flight,
    steps,
)

BEGIN = np.array([0, 10, 20], dtype=np.int64)
END = np.array([30, 20, 40], dtype=np.int64)


def test_the_mean_is_the_area_over_the_window():
    # 1 in flight over [0, 10), 2 over [10, 30), 1 over [30, 40).
    assert mean_in_flight(BEGIN, END, 0, 40) == pytest.approx(60 / 40)
    assert mean_in_flight(BEGIN, END, 10, 30) == 2


def test_the_mean_over_blocks_is_that_of_each_block():
    assert block_means(BEGIN, END, np.array([0.0, 10.0, 30.0, 40.0])).tolist() == [1, 2, 1]


def test_a_slot_that_is_handed_over_is_not_counted_twice():
    assert peak_in_flight(BEGIN, END, 0, 40) == 2


def test_the_peak_of_a_window_counts_what_was_in_flight_when_it_began():
    assert peak_in_flight(BEGIN, END, 12, 15) == 2
    assert peak_in_flight(BEGIN, END, 50, 60) == 0


def test_a_window_without_length_or_requests_has_none_in_flight():
    nothing = np.array([], dtype=np.int64)

    assert mean_in_flight(BEGIN, END, 5, 5) == 0
    assert peak_in_flight(nothing, nothing, 0, 10) == 0
    assert littles_law(nothing, nothing) is None


SPANS = st.lists(
    st.tuples(st.integers(0, 10**12), st.integers(1, 10**10)), min_size=1, max_size=40
)


@given(spans=SPANS)
def test_littles_law_is_an_identity_from_idle_to_idle(spans):
    begin = np.array([at for at, _ in spans], dtype=np.int64)
    found = littles_law(begin, begin + np.array([length for _, length in spans]))

    assert found is not None
    assert found.deviation < 1e-9


@given(spans=SPANS)
def test_the_steps_end_with_nobody_in_flight_and_never_go_below(spans):
    begin = np.array([at for at, _ in spans], dtype=np.int64)
    counts = steps(begin, begin + np.array([length for _, length in spans]))[1]

    assert counts[-1] == 0
    assert counts.min() >= 0


def test_the_deviation_is_relative_to_the_larger_side():
    assert Little(mean_in_flight=10.0, rate_times_residence=9.9).deviation == pytest.approx(
        0.01
    )
