"""The verdict as JUnit XML, for whatever shows test results.

A suite is a candidate (and one the run), a case a clause of the contract or an evidence check.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from reports.metric_names import statistic_name
from reports.number_words import amount, number_phrase
from reports.report import Report
from reports.run.checks_file import Check
from reports.run.summary_file import ClauseSummary
from reports.signing import waivers

_RUN = "run"
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One clause or check; ``text`` says what was seen against what was needed."""

    suite: str
    group: str
    name: str
    outcome: Literal["pass", "failure", "skipped"]
    text: str


def cases(report: Report) -> tuple[Case, ...]:
    """The re-evaluation, every clause of every candidate, then every evidence check."""
    return (*_reevaluation(report), *_clauses(report), *_checks(report))


def junit_xml(report: Report) -> str:
    """The cases as a JUnit file; the same bytes for the same report."""
    found = cases(report)
    root = ET.Element("testsuites", name=_clean(f"runoff {report.plan.campaign}"))
    _count(root, found)
    for suite in dict.fromkeys(case.suite for case in found):
        of_suite = tuple(case for case in found if case.suite == suite)
        element = ET.SubElement(root, "testsuite", name=_clean(suite))
        _count(element, of_suite)
        for case in of_suite:
            _add(element, case)
    ET.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(root, "unicode") + "\n"


def _reevaluation(report: Report) -> Iterator[Case]:
    """Whether the baseline's decision stands; what is not shown is skipped."""
    answer = report.reevaluation
    if answer is not None:
        outcome: Literal["pass", "failure", "skipped"] = "failure"
        if answer.answer in ("still valid", "inconclusive"):
            outcome = "pass" if answer.answer == "still valid" else "skipped"
        yield Case(
            suite=_RUN,
            group="reevaluation",
            name=f"reevaluation of {answer.baseline}",
            outcome=outcome,
            text=answer.sentence,
        )


def _clauses(report: Report) -> Iterator[Case]:
    for ranked in report.places:
        cell = report.decision_cell(ranked.name)
        if cell is None:
            yield Case(
                suite=ranked.name,
                group="contract",
                name="measured",
                outcome="skipped",
                text=f"{ranked.standing}: {ranked.why}",
            )
            continue
        for clause in cell.clauses.values():
            if clause.verdict != "no such clause":
                yield _clause(ranked.name, clause)


def _clause(candidate: str, clause: ClauseSummary) -> Case:
    seen = number_phrase(clause.number)
    relation = "≥" if clause.name in ("goodput", "throughput") else "≤"
    needed = amount(clause.limit, clause.number.unit)
    verdict = clause.verdict
    return Case(
        suite=candidate,
        group="contract",
        name=statistic_name(clause.statistic),
        outcome={"holds": "pass", "misses": "failure"}.get(verdict, "skipped"),  # type: ignore[arg-type]
        text=f"{verdict}: seen {seen}, needed {relation} {needed}",
    )


def _checks(report: Report) -> Iterator[Case]:
    waived = waivers(report)
    for check in report.checks.checks:
        if check.verdict != "not applicable":
            yield _check(check, waived.get(check.name))


def _check(check: Check, waiver: str | None) -> Case:
    text = f"observed {check.observed}, needed {check.needed}"
    outcome: Literal["pass", "failure", "skipped"] = "pass"
    if check.verdict != "pass":
        outcome = "failure" if check.verdict == "fail" and waiver is None else "skipped"
    if waiver is not None:
        text = f"waived: {waiver}; {text}"
    return Case(
        suite=check.candidate or _RUN,
        group="evidence",
        name=check.name,
        outcome=outcome,
        text=text,
    )


def _count(element: ET.Element, found: tuple[Case, ...]) -> None:
    element.set("tests", str(len(found)))
    for attribute, outcome in (("failures", "failure"), ("skipped", "skipped")):
        element.set(attribute, str(sum(1 for case in found if case.outcome == outcome)))


def _add(suite: ET.Element, case: Case) -> None:
    element = ET.SubElement(
        suite,
        "testcase",
        classname=_clean(f"{case.suite}.{case.group}"),
        name=_clean(case.name),
    )
    if case.outcome != "pass":
        ET.SubElement(element, case.outcome, message=_clean(case.text))


def _clean(text: str) -> str:
    """The text without characters that no XML can hold."""
    return _FORBIDDEN.sub("\ufffd", text)
