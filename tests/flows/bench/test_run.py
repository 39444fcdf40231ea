"""One replication from its description to its files, and from the files to its summary."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from flows.bench import merge
from flows.bench.judge import document_of, summary_of
from flows.bench.run import measure_cell
from flows.bench.show import show_cell
from flows.console import Console
from flows.rehearsal import Settings, start
from reports.records import read_records


@pytest.fixture(scope="module")
def server():
    steps = {"decode_base_ms": 1.0, "prefill_base_ms": 1.0}
    with start(
        Settings.from_json({"steps": steps, "engine": {"prefix_cache": True}})
    ) as running:
        yield running


@pytest.fixture
def spec(spec_of, server):
    return spec_of(
        endpoints=[server.url + "/v1/completions"],
        model="rehearsal",
        prompt_tokens="48",
        output_tokens="6",
        concurrency=4,
        num_requests=80,
        warmup_requests=10,
        ttft_slo_ms=4000.0,
        itl_slo_ms=400.0,
        goodput=0.9,
        headers=["X-Key: sk-planted"],
    )


def test_a_cell_leaves_records_and_an_account_under_its_replication(spec, tmp_path):
    files = measure_cell(replace(spec, replication=3), tmp_path / "cells" / "c")

    assert files.records == tmp_path / "cells" / "c" / "3.parquet"
    assert files.client == tmp_path / "cells" / "c" / "3.client.json"
    assert not files.interrupted
    columns = read_records(files.records).columns
    assert set(columns.replication.tolist()) == {3}
    assert np.count_nonzero(columns.phase == "measured") == 70
    account = json.loads(files.client.read_text())
    assert account["complete"] is True
    assert account["server"]["runtime"] == "vllm"
    assert account["plan"] == {"offered_rate": None, "requests": 80, "shared_share": 0.0}
    assert sorted(path.name for path in (tmp_path / "cells" / "c").iterdir()) == [
        "3.client.json",
        "3.parquet",
        "3.server.json",
    ]


def test_no_key_of_the_endpoint_is_in_any_file(spec, tmp_path):
    files = measure_cell(replace(spec, replication=4), tmp_path)

    assert b"sk-planted" not in files.client.read_bytes()
    assert b"sk-planted" not in files.records.read_bytes()


def test_ctrl_c_while_the_files_are_written_costs_none_of_them(spec, tmp_path, monkeypatch):
    def merged_meanwhile(*given):
        signal.raise_signal(signal.SIGINT)
        return merge.merged(*given)

    unheard = SimpleNamespace(**{**vars(merge), "merged": merged_meanwhile})
    monkeypatch.setitem(sys.modules, "flows.bench.merge", unheard)

    files = measure_cell(replace(spec, replication=7), tmp_path)

    assert files.interrupted
    assert len(read_records(files.records).columns) >= 80
    assert json.loads(files.client.read_text())["complete"] is True
    assert json.loads(files.server.read_text())["replication"] == 7


def test_a_summary_is_made_from_the_files_alone(spec, tmp_path):
    files = measure_cell(replace(spec, replication=5), tmp_path)

    summary = summary_of(spec, files)
    document = document_of(summary, files)

    assert summary.counts["measured"] == 70
    assert summary.clauses["ttft"].verdict == "holds"
    assert document["seed"] == 42
    assert document["basis"] == "simulation"
    assert document["connections"][0]["connect_us"] > 0
    json.dumps(document, allow_nan=False)


def test_what_is_printed_names_verdict_percentiles_goodput_sums_and_self_check(
    spec, tmp_path, capsys
):
    files = measure_cell(replace(spec, replication=6), tmp_path)
    summary = summary_of(spec, files)

    show_cell(Console(sys.stdout), spec, summary)

    said = capsys.readouterr().out
    for words in (
        f"closed-c4, replication 0: {summary.verdict.value}",
        "TTFT, from scheduled",
        "p95 with failures",
        "TPOT (the contract's)",
        "largest gap",
        "95% lower bound",
        "planned",
        "send lag p99",
        "from its prefix cache",
    ):
        assert words in said
