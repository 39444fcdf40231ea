"""A small report to the letter: a change of these words is a change that a user sees."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.pages import pages
from reports.run import layout
from tests.reports.small import small_report

GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.parametrize("name", [layout.REPORT_MARKDOWN, layout.JUNIT])
def test_the_small_report_is_as_it_was(name) -> None:
    assert pages(small_report())[name] == (GOLDEN / name).read_text(encoding="utf-8")
