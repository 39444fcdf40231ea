"""What was measured is written, read back the same, and never confused with other files."""

from __future__ import annotations

import json
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports import records
from reports.columns import FIELD_TYPES
from reports.errors import RecordsError
from reports.records import SCHEMA, Anchor, Records, read_records, write_records

ANCHOR = Anchor(monotonic_ns=5, unix_ns=1_700_000_000_000_000_000)


@pytest.fixture
def some(cell_of, without_answers):
    cell = cell_of(
        [0, 10, 20, 30], gaps_ms=[[1, 2], [], [3], [4, 5]], cached_tokens=[None, 0, 3, 1]
    )
    return Records(columns=without_answers(cell, [2]), anchor=ANCHOR)


@pytest.fixture
def path(some, tmp_path):
    path = tmp_path / "0.parquet"
    write_records(path, some)
    return path


def test_what_was_written_is_read_back(some, path):
    back = read_records(path)

    assert back.anchor == ANCHOR
    for name in FIELD_TYPES:
        written, read = getattr(some.columns, name), getattr(back.columns, name)
        assert read.dtype == written.dtype, name
        assert np.array_equal(read, written), name


def test_records_without_requests_are_read_back(some, tmp_path):
    nothing = Records(columns=some.columns.where(np.zeros(4, dtype=bool)), anchor=ANCHOR)
    write_records(tmp_path / "none.parquet", nothing)

    assert len(read_records(tmp_path / "none.parquet").columns) == 0


def test_unknown_is_null_in_the_file_and_zero_is_zero(path):
    table = pq.read_table(path)

    assert table["cached_tokens"].to_pylist() == [None, 0, 3, 1]
    assert table["sent_ns"].to_pylist()[2] is None
    assert table["gap_us"].to_pylist() == [[1000, 2000], [], None, [4000, 5000]]
    assert table["chunk_tokens"].to_pylist() == [[1, 1, 1], [1], None, [1, 1, 1]]


def test_any_reader_of_parquet_can_use_the_file(path):
    frame = pd.read_parquet(path)

    assert list(frame.columns) == SCHEMA.names
    assert frame["outcome"].tolist() == ["ok", "ok", "not_sent", "ok"]


def test_the_columns_are_those_that_the_format_promises():
    promised = (
        "run, cell, replication, launch, shard, sequence, prompt, session, turn, endpoint,"
        " phase, scheduled_ns, sent_ns, first_byte_ns, first_token_ns, first_answer_ns,"
        " last_token_ns, done_ns, prompt_tokens, output_tokens, output_chunks, finish_reason,"
        " outcome, error, http_status, gap_us, chunk_tokens, reused, reconnected"
    )

    assert set(re.split(r",\s*", promised)) <= set(SCHEMA.names)


def test_the_file_says_its_version_and_its_clock(path):
    metadata = pq.read_schema(path).metadata

    assert metadata[b"runoff.records"] == b"1"
    assert json.loads(metadata[b"runoff.anchor"]) == {
        "monotonic_ns": 5,
        "unix_ns": 1_700_000_000_000_000_000,
    }


def rewritten(path, change):
    table = pq.read_table(path)
    changed = change(table)
    # Some changes of a table's columns drop its metadata.
    pq.write_table(
        changed.replace_schema_metadata(changed.schema.metadata or table.schema.metadata), path
    )
    return path


def test_a_newer_file_is_refused_with_what_to_do(path):
    newer = rewritten(
        path,
        lambda table: table.replace_schema_metadata(
            {**table.schema.metadata, b"runoff.records": b"2"}
        ),
    )

    with pytest.raises(RecordsError, match=r"format 2, this runoff reads up to 1\. Update"):
        read_records(newer)


def test_an_older_file_is_brought_up_version_by_version(path, some, monkeypatch):
    rewritten(path, lambda table: table.rename_columns({"prompt": "prompt_id"}))
    monkeypatch.setattr(records, "FORMAT", 3)
    monkeypatch.setitem(records._UPGRADES, 1, lambda table: table.drop_columns(["cell"]))
    monkeypatch.setitem(
        records._UPGRADES,
        2,
        lambda table: table.rename_columns({"prompt_id": "prompt"}).append_column(
            "cell", pa.array(["later"] * 4)
        ),
    )
    columns = read_records(path).columns

    assert columns.prompt.tolist() == some.columns.prompt.tolist()
    assert columns.cell.tolist() == ["later"] * 4


@pytest.mark.parametrize(
    "change", [{b"runoff.records": b"one"}, {b"runoff.anchor": b"{}"}, {b"runoff.anchor": b"?"}]
)
def test_a_head_that_makes_no_sense_is_refused(path, change):
    broken = rewritten(
        path,
        lambda table: table.replace_schema_metadata({**table.schema.metadata, **change}),
    )

    with pytest.raises(RecordsError, match="not one of request records"):
        read_records(broken)


def test_a_parquet_file_of_somebody_elses_is_refused(tmp_path):
    pq.write_table(pa.table({"ttft": [1.0]}), tmp_path / "x.parquet")

    with pytest.raises(RecordsError, match="not one of request records"):
        read_records(tmp_path / "x.parquet")


@pytest.mark.parametrize("content", [b"", b"PAR1", b"ttft,itl\n1,2\n"])
def test_a_file_that_is_no_parquet_is_refused(tmp_path, content):
    (tmp_path / "x.parquet").write_bytes(content)

    with pytest.raises(RecordsError, match="cannot be read as Parquet"):
        read_records(tmp_path / "x.parquet")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(RecordsError, match=r"x\.parquet"):
        read_records(tmp_path / "x.parquet")


def test_a_missing_column_is_named(path):
    rewritten(path, lambda table: table.drop_columns(["done_ns"]))

    with pytest.raises(RecordsError, match="has no column done_ns"):
        read_records(path)


def test_a_column_of_another_type_is_refused(path):
    def retyped(table):
        place = table.column_names.index("done_ns")
        return table.set_column(place, "done_ns", pa.array([["x"]] * 4))

    with pytest.raises(RecordsError, match="of another type"):
        read_records(rewritten(path, retyped))


def test_columns_that_a_later_writer_added_are_passed_over(path, some):
    rewritten(path, lambda table: table.append_column("added", pa.array([1, 2, 3, 4])))

    assert read_records(path).columns.sequence.tolist() == some.columns.sequence.tolist()


def test_a_write_that_fails_leaves_the_old_file_and_no_other(path, some):
    before = path.read_bytes()
    broken = path.parent / "no" / "such" / "place.parquet"

    with pytest.raises(RecordsError, match="cannot be written"):
        write_records(broken, some)
    assert path.read_bytes() == before
    assert [entry.name for entry in path.parent.iterdir()] == ["0.parquet"]
