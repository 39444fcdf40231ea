"""The few columns that figures draw are those of the whole records."""

from __future__ import annotations

import numpy as np
import pytest

from reports.cell.latency import latencies
from reports.errors import RecordsError
from reports.records import Anchor, Records, read_records, write_records
from reports.thin import read_thin


def test_thin_columns_are_those_of_the_whole_records(concluded_run) -> None:
    for path in sorted(concluded_run("failures").path.glob("cells/B--closed-4*/*.parquet")):
        whole, thin = read_records(path).columns, read_thin(path)
        order = np.argsort(whole.scheduled_ns, kind="stable")
        latency = latencies(whole)

        np.testing.assert_array_equal(thin.ttft_ms, latency.ttft[order])
        np.testing.assert_array_equal(thin.service_ttft_ms, latency.service_ttft[order])
        np.testing.assert_array_equal(thin.measured, (whole.phase == "measured")[order])
        np.testing.assert_array_equal(thin.ok, (whole.outcome == "ok")[order])
        assert thin.scheduled_s[0] == 0
        assert not thin.ok.all()


def test_requests_that_were_never_due_are_left_out(tmp_path, cell_of) -> None:
    columns = cell_of([0, 10, 20], scheduled_ns=[0, None, 20_000_000])
    write_records(
        tmp_path / "0.parquet",
        Records(columns=columns, anchor=Anchor(monotonic_ns=0, unix_ns=0)),
    )

    thin = read_thin(tmp_path / "0.parquet")

    assert len(thin) == 2
    assert thin.scheduled_s.tolist() == [0.0, 0.02]
    assert thin.bands == {"measured": (0.0, 0.02)}


def test_a_file_that_is_no_records_is_named(tmp_path) -> None:
    path = tmp_path / "0.parquet"
    path.write_bytes(b"nothing")

    with pytest.raises(RecordsError, match=r"0\.parquet: cannot be read as records"):
        read_thin(path)
