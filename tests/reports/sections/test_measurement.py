"""Every request is accounted for once, or the page says that it is not."""

from __future__ import annotations

import pytest

from reports.sections.s13_measurement import adds_up, section
from tests.reports.small import CELL, SUMMARY, small_report


def test_requests_that_add_up_pass() -> None:
    assert adds_up(CELL.requests)


@pytest.mark.parametrize("name", ["planned", "sent", "ok", "failed", "measured", "not_sent"])
def test_one_request_too_many_anywhere_is_seen(name) -> None:
    assert not adds_up({**CELL.requests, name: CELL.requests[name] + 1})


def test_the_table_says_which_cell_does_not_add_up() -> None:
    cell = CELL.model_copy(update={"requests": {**CELL.requests, "ok": 1}})
    (b,) = SUMMARY.candidates
    summary = SUMMARY.model_copy(
        update={"candidates": (b.model_copy(update={"cells": (CELL, cell)}),)}
    )

    content = section(small_report(summary=summary))

    assert [row[-1].text for row in content["requests"].rows] == ["✓ add up", "✗ do not add up"]
    assert "In 1 of 2 cells every request is accounted for once" in content["sums"]
