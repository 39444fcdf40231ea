"""Controlled variables: what was asked stands beside what was seen."""

from __future__ import annotations

from reports.sections.s12_controlled import section
from tests.reports.small import PLAN, small_report


def launch(seen: str, verdict: str) -> dict:
    """What a launch says of one variable."""
    return {
        "models": ["m"],
        "read_back": [
            {"variable": "max_model_len", "asked": "8192", "seen": seen, "verdict": verdict}
        ],
    }


def row(launches) -> list[str]:
    """B's row of the variable."""
    facts = {"controlled": {"max_model_len": {"asked": 8192, "how": "rendered", "note": ""}}}
    a, b = PLAN.candidates
    plan = PLAN.model_copy(update={"candidates": (a, b.model_copy(update={"launch": facts}))})
    content = section(small_report(plan=plan, launches=launches))
    ((name, table, left),) = content["own"]
    assert name == "B"
    assert left is None
    return [cell.text for cell in table.rows[0]]


def test_a_variable_that_the_server_reports_as_asked_fits() -> None:
    launches = {("B", r): launch("8192", "match") for r in range(2)}

    assert row(launches) == ["max model len", "8192", "rendered", "8192", "✓ as asked"]


def test_one_launch_that_differs_is_enough() -> None:
    launches = {("B", 0): launch("8192", "match"), ("B", 1): launch("4096", "differs")}

    assert row(launches)[3:] == ["8192, 4096", "✗ differs"]


def test_a_variable_that_nothing_reports_says_so() -> None:
    assert row({})[3:] == ["not reported", "nothing to compare"]


def test_lengths_and_launches_are_shown_as_seen(report_of_kind) -> None:
    rows = {
        r[1].text: (r[2].text, r[3].text)
        for r in section(report_of_kind("rehearsal"))["common"].rows
    }

    assert rows["input length"] == ("1,024 tokens", "1,024 tokens in every request")
    assert rows["output length"] == ("128 tokens, forced", "128 tokens in every request")
    assert rows["replications"] == ("3 launches", "3")
