"""Histograms tell a bracket and never more."""

from __future__ import annotations

import math
from bisect import bisect_left

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from flows.collect.histogram import Histogram, histogram_of
from reports.stats.quantiles import nearest_rank

EDGES = (0.3, 0.5, 0.8, 1.0, 2.5, math.inf)
times = st.lists(
    st.one_of(st.floats(0, 4, allow_subnormal=False), st.sampled_from(EDGES[:-1])), max_size=60
)
percents = st.sampled_from([1.0, 50.0, 90.0, 95.0, 99.0, 100.0])


def counted(observed: list[float], edges: tuple[float, ...] = EDGES) -> Histogram:
    counts = [0] * len(edges)
    for seconds in observed:
        counts[bisect_left(edges, seconds)] += 1
    return Histogram(edges=edges, counts=tuple(counts), total=math.fsum(observed))


def true_percentile(observed: list[float], percent: float) -> float:
    return sorted(observed)[nearest_rank(len(observed), percent) - 1]


@given(times, times, percents)
def test_the_bracket_of_a_difference_holds_the_true_percentile(earlier, later, percent):
    difference = counted(earlier + later).since(counted(earlier))
    assert difference is not None
    assert difference.n == len(later)
    assert min(difference.counts) >= 0

    bracket = difference.percentile(percent)

    if later:
        assert bracket.low <= true_percentile(later, percent) <= bracket.high


@given(times.filter(bool), percents)
@example([1.3649006797580556e-15], 1.0)
def test_with_the_sum_the_bracket_is_closer_and_still_holds_the_true_percentile(
    observed, percent
):
    histogram = counted(observed)
    assert histogram.total is not None

    edges = histogram.percentile(percent)
    both = histogram.percentile(percent, at_least=histogram.total, at_most=histogram.total)
    above = histogram.percentile(percent, at_most=histogram.total * 2)

    true = true_percentile(observed, percent)
    assert both.low <= true <= both.high
    assert edges.low <= both.low
    assert both.high <= above.high <= edges.high
    assert above.low <= true <= above.high


@given(times, times, times)
def test_what_is_counted_only_grows(first, second, third):
    start, middle = counted(first), counted(first + second)
    end = counted(first + second + third)

    parts = middle.since(start), end.since(middle)

    assert parts[0] is not None
    assert parts[1] is not None
    whole = parts[0].plus(parts[1])
    assert whole is not None
    assert whole.counts == end.since(start).counts


def test_two_hundred_short_waits_in_a_first_bucket_of_300_ms_are_bounded_by_their_sum():
    histogram = Histogram(edges=(0.3, math.inf), counts=(200, 0), total=0.006)

    bracket = histogram.percentile(95, at_least=0.006, at_most=0.006)

    assert bracket.low == 0.0
    assert bracket.high == pytest.approx(0.006 / 11)  # ranks 190 to 200 are p95 or more


def test_the_sum_lifts_the_low_limit_where_nearly_all_must_be_late():
    histogram = Histogram(edges=(0.3, 0.5, math.inf), counts=(0, 10, 0), total=4.95)

    bracket = histogram.percentile(50, at_least=4.95, at_most=4.95)

    assert bracket.low == pytest.approx(0.49)  # five of them lack 0.05 s together
    assert bracket.high == 0.5


def test_beyond_the_last_edge_nothing_bounds_it_but_the_sum():
    histogram = Histogram(edges=(1.0, math.inf), counts=(1, 2), total=None)

    assert histogram.percentile(95).high == math.inf
    assert histogram.percentile(95, at_most=9.0).high == pytest.approx(8.0)
    assert histogram.percentile(95).low == 1.0


def test_a_sum_that_cannot_be_of_these_counts_is_not_used():
    histogram = Histogram(edges=(0.3, 0.5, math.inf), counts=(0, 10, 0), total=1.0)

    bracket = histogram.percentile(95, at_least=9.0, at_most=1.0)

    assert (bracket.low, bracket.high) == (0.3, 0.5)


def test_without_observations_nothing_is_known():
    empty = Histogram(edges=EDGES, counts=(0,) * 6, total=0.0)

    bracket = empty.percentile(95)

    assert (bracket.low, bracket.high, bracket.resolution) == (0.0, math.inf, math.inf)
    assert empty.mean is None


def test_counts_that_fall_or_buckets_that_change_have_no_difference():
    one, two = counted([0.1, 0.4]), counted([0.1])

    assert two.since(one) is None
    assert one.since(counted([0.1], (0.3, math.inf))) is None
    assert one.plus(counted([0.1], (0.3, math.inf))) is None


def test_cumulative_counts_become_counts_by_bucket():
    found = histogram_of({0.5: 3.0, 0.3: 2.0, math.inf: 3.0}, total=0.7)

    assert found == Histogram(edges=(0.3, 0.5, math.inf), counts=(2, 1, 0), total=0.7)


@pytest.mark.parametrize(
    "cumulative", [{}, {0.3: 1.0}, {0.3: 2.0, math.inf: 1.0}], ids=["none", "cut", "falling"]
)
def test_what_is_no_whole_histogram_is_none(cumulative):
    assert histogram_of(cumulative, None) is None


def test_a_bucket_that_ends_at_zero_holds_what_did_not_wait():
    histogram = Histogram(edges=(0.0, 0.001, math.inf), counts=(9, 1, 0), total=0.0005)

    bracket = histogram.percentile(50)

    assert (bracket.low, bracket.high) == (0.0, 0.0)
