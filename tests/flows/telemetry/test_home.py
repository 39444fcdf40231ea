"""What a cell keeps of the samples that were taken beside it."""

from __future__ import annotations

import json

import numpy as np
import pytest

from flows.telemetry.home import cell_telemetry
from reports.run.plan_file import LoadPoint
from reports.run.telemetry_file import read_telemetry
from tests.reports.run.traffic import Pace, requests_of
from tests.reports.telemetry.samples import device, host

CLOSED = LoadPoint(name="closed-4", process="closed", concurrency=4)
S = 10**9


@pytest.fixture
def columns():
    return requests_of(
        CLOSED,
        Pace(ttft_ms=300, itl_ms=15, spread=0.1, late=0.0, failures=0.0),
        np.random.default_rng(1),
        requests=60,
        duration_s=20.0,
        output_tokens=128,
        prompt_tokens=1024,
        identity={"run": "r", "cell": "c", "replication": 0, "launch": "l"},
    )


def lines(first_ns, last_ns, offset_ns=0):
    seconds = range((last_ns - first_ns) // S + 8)
    rows = [{"telemetry": 1, "monotonic_ns": 0, "unix_ns": 0, "every_s": 1.0, "tool": "x"}]
    for second in seconds:
        at_ns = first_ns - 3 * S + second * S + offset_ns
        rows += [{**make(second), "at_ns": at_ns} for make in (device, host)]
    rows.append({"ended": 1, "share_of_core": 0.002})
    return "".join(json.dumps(row) + "\n" for row in rows)


@pytest.mark.parametrize("offset_ns", [0, 7 * S])
def test_a_cells_samples_are_kept_and_summed_up_over_its_measured_window(
    columns, tmp_path, offset_ns
):
    measured = columns.where(columns.phase == "measured")
    first_ns, last_ns = int(measured.scheduled_ns.min()), int(measured.done_ns.max())
    text = lines(first_ns, last_ns, offset_ns)
    path = tmp_path / "0.telemetry.parquet"

    found = cell_telemetry(
        text, path, columns, devices=(0,), targets_mhz={0: 1410.0}, offset_ns=offset_ns
    )

    assert found["window_s"] == pytest.approx((last_ns - first_ns) / S)
    assert found["devices"]["0"]["share_at_target"] == 1.0
    assert found["energy_j"] == pytest.approx(400 * found["window_s"], rel=1e-6)
    tokens = found["energy_j"] / found["energy_j_per_output_token"]
    assert 0 < tokens <= 128 * len(columns)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert read_telemetry(path).windows["measured"][0] == first_ns + offset_ns


def test_a_cell_without_a_window_keeps_nothing(columns, tmp_path):
    none = columns.where(columns.phase == "no such phase")

    assert cell_telemetry(lines(0, 5 * S), tmp_path / "t", none) is None
    assert list(tmp_path.iterdir()) == []
