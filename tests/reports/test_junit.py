"""The verdict as test results: a suite per candidate, a case per clause or check."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from reports.junit import cases, junit_xml
from reports.run.checks_file import Check, Checks


def test_clauses_that_hold_pass_and_those_that_miss_fail(report_of_kind) -> None:
    by_kind = {
        kind: {
            (c.suite, c.name): c for c in cases(report_of_kind(kind)) if c.group == "contract"
        }
        for kind in ("rehearsal", "none complies")
    }

    assert by_kind["rehearsal"]["B", "p95 TPOT"].outcome == "pass"
    missed = by_kind["none complies"]["B", "p95 TPOT"]
    assert missed.outcome == "failure"
    assert "needed ≤ 25.0 ms" in missed.text
    assert missed.text.startswith("misses: seen ")


def test_a_candidate_that_was_not_measured_is_skipped_with_its_reason(report_of_kind) -> None:
    skipped = [c for c in cases(report_of_kind("nothing measured")) if c.group == "contract"]

    assert {case.suite for case in skipped} == {"A", "D"}
    assert all(case.outcome == "skipped" for case in skipped)
    assert all("ms are allowed" in case.text for case in skipped)


def test_a_failed_check_fails_an_unknown_one_is_skipped(report_of_kind) -> None:
    report = report_of_kind("rehearsal")
    made = {
        verdict: Check(
            id=verdict, requirement="r", observed="3 ms", needed="1 ms", verdict=verdict
        )
        for verdict in ("pass", "fail", "unknown", "not applicable")
    }
    of = {name: getattr(report, name) for name in report.__slots__} | {
        "checks": Checks(checks=tuple(made.values()))
    }
    found = {c.name: c.outcome for c in cases(type(report)(**of)) if c.group == "evidence"}

    assert found == {"pass": "pass", "fail": "failure", "unknown": "skipped"}


def test_the_file_counts_what_it_holds(report_of_kind) -> None:
    root = ET.fromstring(junit_xml(report_of_kind("failures")))
    found = root.findall(".//testcase")

    assert int(root.get("tests")) == len(found)
    assert int(root.get("failures")) == len(root.findall(".//failure"))
    assert int(root.get("skipped")) == len(root.findall(".//skipped"))
    assert sum(int(suite.get("tests")) for suite in root) == len(found)
    assert root.findall(".//failure")[0].get("message")
