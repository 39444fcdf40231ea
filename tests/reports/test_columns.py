"""Columns keep each request's values together."""

from __future__ import annotations

from array import array

import numpy as np
import pytest

from flows.load.parse import Columns
from reports.columns import (
    FIELD_TYPES,
    NULL,
    RequestColumns,
    columns_of,
    concatenated,
    known,
    since_ms,
)


def same(one: RequestColumns, other: RequestColumns) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in FIELD_TYPES)


@pytest.fixture
def three(cell_of):
    return cell_of([0, 10, 20], gaps_ms=[[1, 2], [], [3]])


@pytest.mark.parametrize(
    ("keep", "gaps"),
    [
        ([True, True, True], [1, 2, 3]),
        ([True, False, True], [1, 2, 3]),
        ([False, True, True], [3]),
        ([False, True, False], []),
        ([False, False, False], []),
    ],
)
def test_a_selection_takes_each_requests_gaps_along(three, keep, gaps):
    chosen = three.where(np.array(keep))

    assert len(chosen) == sum(keep)
    assert (chosen.gap_us / 1000).tolist() == gaps
    assert chosen.sequence.tolist() == [place for place, kept in enumerate(keep) if kept]
    assert len(chosen.chunk_tokens) == chosen.output_chunks.sum()


def test_parts_put_together_are_the_whole(three):
    parts = [three.where(np.array(keep, dtype=bool)) for keep in ([1, 0, 0], [0, 1, 1])]

    assert same(concatenated(parts), three)


def test_rows_and_offsets_that_do_not_fit_are_refused(three):
    values = {name: getattr(three, name) for name in FIELD_TYPES}

    with pytest.raises(ValueError, match="turn has 2 rows, not 3"):
        RequestColumns(**{**values, "turn": three.turn[:2]})
    with pytest.raises(ValueError, match="gap_offsets does not fit gap_us"):
        RequestColumns(**{**values, "gap_us": three.gap_us[:2]})


def test_parsed_lists_become_columns_with_unknown_kept_apart_from_zero():
    lists = Columns().lists()
    row = {name: [None] for name in lists}
    row |= {"sequence": [3], "turn": [0], "reused": [True], "reconnected": [False]}
    row |= {"gap_us": array("f", [5.5]), "gap_offsets": array("q", [0, 1])}
    row |= {"chunk_tokens": array("f"), "chunk_offsets": array("q", [0, 0]), "outcome": ["ok"]}
    columns = columns_of(row, run="r", cell="c", replication=2, launch=None, shard=1)

    assert columns.turn.tolist() == [0]
    assert columns.sent_ns.tolist() == [NULL]
    assert columns.gap_us.dtype == np.float32
    assert (columns.run[0], columns.launch[0]) == ("r", None)
    assert (columns.replication[0], columns.shard[0]) == (2, 1)


def test_the_parsers_columns_and_the_records_columns_have_the_same_names():
    identity = {"run", "cell", "replication", "launch", "shard"}

    assert set(Columns().lists()) == set(FIELD_TYPES) - identity


def test_no_requests_are_columns_too():
    columns = columns_of(
        Columns().lists(), run="r", cell="c", replication=0, launch=None, shard=0
    )

    assert len(columns) == 0


def test_a_time_since_an_unknown_time_is_unknown():
    later = np.array([5_000_000, NULL, 7], dtype=np.int64)
    earlier = np.array([2_000_000, 3, NULL], dtype=np.int64)

    assert np.array_equal(since_ms(later, earlier), [3.0, np.nan, np.nan], equal_nan=True)
    assert np.array_equal(known(later), [5e6, np.nan, 7], equal_nan=True)
