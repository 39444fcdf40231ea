from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from reports.errors import RecordsError
from reports.run.telemetry_file import COLUMNS, read_telemetry, write_telemetry
from reports.telemetry.summary import summarise_telemetry
from tests.reports.telemetry.samples import host, steady, telemetry


def test_what_is_written_is_read_back(tmp_path):
    rows = sorted(
        [*steady(), *(host(at) for at in range(31))],
        key=lambda row: (row["at_ns"], row["source"]),
    )
    told = telemetry(rows)
    write_telemetry(tmp_path / "0.telemetry.parquet", told)
    again = read_telemetry(tmp_path / "0.telemetry.parquet")

    assert summarise_telemetry(again) == summarise_telemetry(told)
    assert again.windows == told.windows
    assert again.anchor == told.anchor
    assert set(again.rows[0]) == set(COLUMNS)


def test_what_the_driver_does_not_tell_stays_null(tmp_path):
    write_telemetry(tmp_path / "t", telemetry(steady(2, reasons=None, power_w=None)))

    assert read_telemetry(tmp_path / "t").rows[0]["reasons"] is None
    assert read_telemetry(tmp_path / "t").rows[0]["power_w"] is None


def test_a_foreign_file_and_a_newer_one_are_refused(tmp_path):
    pq.write_table(pa.table({"a": [1]}), tmp_path / "foreign")
    newer = pa.table({"a": [1]}).replace_schema_metadata({b"runoff.telemetry": b"9"})
    pq.write_table(newer, tmp_path / "newer")
    (tmp_path / "torn").write_bytes(b"PAR1")

    for name, words in (("foreign", "no telemetry"), ("newer", "version 9"), ("torn", "read")):
        with pytest.raises(RecordsError, match=words):
            read_telemetry(tmp_path / name)


def test_no_half_of_a_file_is_left_where_there_is_no_room(tmp_path):
    with pytest.raises(RecordsError, match="cannot be written"):
        write_telemetry(tmp_path / "absent" / "t", telemetry(steady(2)))
