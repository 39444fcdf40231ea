"""Records and results as DataFrames: what is unknown is NaN, units stand in the names."""

from __future__ import annotations

import re
from pathlib import Path

import pandas as pd
import pytest

from reports.conclude import conclude
from reports.frames import NAMES, candidate_frame, cell_frame, frames, request_frame, write_csv
from reports.records import read_records
from reports.run.read import Run, read_run
from tests.reports.run.builder import NOW, ON_PAPER, QUICK, B, Made, build_run

UNITED = re.compile(r"_(ms|s|per_s|usd|requests|tokens|hour|1m_\w+|device|unit|basis|max)$")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    made = [B, Made(name="F", failures=0.2, price=None), *ON_PAPER]
    folder = build_run(tmp_path_factory.mktemp("framed"), made, replications=2, **QUICK)
    conclude(folder, now=NOW)
    return read_run(folder.path)


def test_there_is_one_row_per_request_of_every_replication(run: Run) -> None:
    frame = request_frame(run)

    assert len(frame) == sum(len(read_records(cell.records).columns) for cell in run.cells)
    counts = frame.groupby(["candidate", "load_point", "replication"], observed=True).size()
    assert len(counts) == len(run.cells)


def test_latencies_are_those_of_the_records_in_milliseconds(run: Run) -> None:
    frame = request_frame(run)
    ok = frame[frame.outcome == "ok"]

    assert ((ok.first_token_s - ok.scheduled_s) * 1e3 - ok.ttft_ms).abs().max() < 1e-3
    assert frame.scheduled_s.min() == 0


def test_what_is_unknown_is_missing_and_never_zero(run: Run) -> None:
    frame = request_frame(run)
    failed = frame[frame.outcome == "failed_http"]

    assert len(failed)
    assert failed.ttft_ms.isna().all()
    assert failed.output_tokens.isna().all()
    assert frame.cached_tokens.isna().all()
    assert str(frame.output_tokens.dtype) == "Int64"


def test_a_cell_has_each_measure_with_its_interval_and_basis(run: Run) -> None:
    frame = cell_frame(run).set_index(["candidate", "load_point"])
    cell = run.summary.candidate("B").cell("closed-4")

    row = frame.loc[("B", "closed-4")]
    number = cell.measures["ttft_p95_ms"]
    assert (row.ttft_p95_ms, row.ttft_p95_ms_low) == (number.value, number.low)
    assert row.ttft_p95_ms_basis == "measurement"
    assert row.requests_measured == cell.requests["measured"]


def test_every_measures_name_ends_in_its_unit(run: Run) -> None:
    frame = cell_frame(run)
    measures = [name.removesuffix("_basis") for name in frame if name.endswith("_basis")]

    assert measures
    known = {"kv_use_max", "preemptions"}  # a share and a count
    assert [name for name in measures if name not in known and not UNITED.search(name)] == []


def test_candidates_are_all_there_with_price_standing_and_choice(run: Run) -> None:
    frame = candidate_frame(run).set_index("candidate")

    assert list(frame.index) == ["B", "F", "A", "D"]
    assert frame.loc["B", "price"] == 3.67
    assert pd.isna(frame.loc["F", "price"])
    assert frame.loc["A", "standing"] == "voted out on paper"
    assert pd.isna(frame.loc["A", "rank"])
    assert list(frame.index[frame.is_chosen]) == (
        [run.decision.chosen] if run.decision.chosen else []
    )


def test_csv_comes_back_as_it_was(run: Run, tmp_path: Path) -> None:
    paths = write_csv(run, tmp_path / "csv")

    assert [path.stem for path in paths] == list(NAMES)
    for path, frame in zip(paths, frames(run).values(), strict=True):
        back = pd.read_csv(path)
        assert list(back.columns) == list(frame.columns)
        assert len(back) == len(frame)
    requests = pd.read_csv(paths[0])
    expected = frames(run)["requests"].ttft_ms
    assert (requests.ttft_ms - expected).abs().max() == pytest.approx(0, abs=1e-9)
