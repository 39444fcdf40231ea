"""What the builder makes is a run directory that reads back, and the same each time."""

from __future__ import annotations

import hashlib

import pytest

from reports.cell import summarise
from reports.records import read_records
from reports.run.read import read_run
from tests.reports.run.builder import QUICK, Made, build_run


def digests(path):
    return {
        str(file.relative_to(path)): hashlib.sha256(file.read_bytes()).hexdigest()
        for file in sorted(path.rglob("*"))
        if file.is_file()
    }


def test_the_same_arguments_give_the_same_bytes(tmp_path):
    first = build_run(tmp_path / "1", **QUICK)
    second = build_run(tmp_path / "2", **QUICK)

    assert digests(first.path) == digests(second.path)


def test_every_cell_of_the_default_run_is_valid_and_long_enough_to_decide(tmp_path):
    run = read_run(build_run(tmp_path).path)

    for measured in run.cells:
        summary = summarise(
            read_records(measured.records).columns, measured.file.asked.settings()
        )
        assert summary.verdict == "valid", summary.problems
        assert summary.counts["measured"] >= 200
        assert summary.window.length_s >= 600


def test_a_share_of_failures_and_of_late_answers_is_in_the_records(tmp_path):
    made = [Made(failures=0.1), Made(name="C", late=0.2)]
    run = read_run(build_run(tmp_path, made, replications=1).path)

    found = {
        each.name.candidate: summarise(
            read_records(each.records).columns, each.file.asked.settings()
        ).goodput["tpot"]
        for each in run.cells
        if each.name.load_point == "closed-4"
    }
    assert found["B"].share == pytest.approx(0.9, abs=0.03)
    assert found["C"].share == pytest.approx(0.8, abs=0.06)
