"""What every section of the report must keep, found by scanning the folder."""

from __future__ import annotations

import importlib

import pytest

from reports.html import SECTIONS
from reports.sections import names, sections_of
from tests.reports.runs import KINDS


@pytest.mark.parametrize("name", names())
def test_a_section_has_a_title_a_sentence_on_what_it_is_and_a_template(name) -> None:
    module = importlib.import_module(f"reports.sections.{name}")

    assert module.TITLE
    assert module.__doc__.rstrip().endswith(".")
    assert module.section.__doc__
    assert (SECTIONS / f"{name}.html.j2").is_file()


def test_every_template_belongs_to_a_section() -> None:
    assert {path.name.removesuffix(".html.j2") for path in SECTIONS.glob("*.j2")} == set(
        names()
    )


@pytest.mark.parametrize("kind", list(KINDS))
def test_sections_come_in_the_order_of_their_names_with_anchors_of_their_own(
    report_of_kind, kind
) -> None:
    found = sections_of(report_of_kind(kind))

    assert [each.name for each in found] == sorted(each.name for each in found)
    assert len({each.anchor for each in found}) == len(found)


def test_a_run_that_measured_nothing_leaves_out_what_it_cannot_say(report_of_kind) -> None:
    found = {each.name for each in sections_of(report_of_kind("nothing measured"))}

    assert "s08_head_to_head" not in found
    assert "s09_limits" not in found
    assert {"s01_decision", "s03_gates", "s10_why_not"} <= found
