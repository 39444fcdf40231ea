"""The evidence of a check is named with its hash."""

from __future__ import annotations

from reports.run.checks_file import Checks
from reports.sections.s16_checks import files_table, section
from tests.reports.small import CHECKS, small_report

FILES = {"cells/a/0.parquet": "ab" * 32}


def evident(*names: str):
    """The small report whose second check names these files."""
    first, second = CHECKS.checks
    second = second.model_copy(update={"evidence": names})
    return small_report(checks=Checks(checks=(first, second)), files=FILES)


def cell(*names: str) -> tuple[str, str]:
    """The evidence cell of the check that did not pass."""
    (row,) = section(evident(*names))["open"].rows
    return row[-1].text, row[-1].detail


def test_a_file_has_the_head_of_its_hash_and_further_ones_are_counted() -> None:
    assert cell("cells/a/0.parquet") == ("cells/a/0.parquet", "SHA-256 abababab")
    assert cell("cells/a/0.parquet", "hosts/b.json")[1] == "SHA-256 abababab; 1 more below"


def test_a_file_that_the_manifest_lacks_is_said_to_be_missing_there() -> None:
    assert cell("hosts/b.json") == ("hosts/b.json", "not in the manifest")


def test_every_file_has_its_whole_hash_and_its_checks_once() -> None:
    rows = files_table(evident("hosts/b.json", "cells/a/0.parquet")).rows

    assert [[each.text for each in row] for row in rows] == [
        ["cells/a/0.parquet", "ab" * 32, "clocks"],
        ["hosts/b.json", "not in the manifest", "clocks"],
    ]


def test_a_check_without_files_of_its_own_says_what_it_was_made_from() -> None:
    assert cell() == ("plan, summary and ledger", "")
    assert files_table(small_report()) is None


def test_a_concluded_run_names_no_file_without_a_hash(report_of_kind) -> None:
    rows = files_table(report_of_kind("chosen")).rows

    assert rows
    assert all(len(row[1].text) == 64 for row in rows)
