"""Statistics of many lists at once are those of each list."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from reports.columns import offsets_of
from reports.stats.quantiles import percentiles
from reports.stats.ragged import list_percentiles, maxima, sums

LISTS = st.lists(st.lists(st.floats(0, 1e6, width=32), max_size=9), max_size=12)


def flat(lists):
    values = np.array([value for one in lists for value in one], dtype=np.float32)
    return values, offsets_of(np.array([len(one) for one in lists], dtype=np.int64))


@given(lists=LISTS)
def test_each_lists_percentile_maximum_and_sum_are_its_own(lists):
    values, offsets = flat(lists)
    expected = np.array([percentiles(np.array(one), [95])[0] for one in lists], dtype=float)

    assert np.array_equal(list_percentiles(values, offsets, 95), expected, equal_nan=True)
    assert np.array_equal(
        maxima(values, offsets),
        np.array([max(one, default=np.nan) for one in lists], dtype=float),
        equal_nan=True,
    )
    assert np.allclose(sums(values, offsets), [sum(one) for one in lists])


def test_an_empty_list_between_others_takes_nothing_from_them():
    values, offsets = flat([[1, 5], [], [7]])

    assert maxima(values, offsets)[[0, 2]].tolist() == [5, 7]
    assert sums(values, offsets).tolist() == [6, 0, 7]
    assert np.isnan(maxima(values, offsets)[1])
