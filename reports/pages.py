"""A run's pages as text: HTML, Markdown, JUnit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reports.html import html_page, markdown_page
from reports.junit import junit_xml
from reports.report import Report
from reports.run import layout
from reports.sections import Section, sections_of

_MARKED = ("REHEARSAL", "EXPLORATORY", "IMPORTED", "ESTIMATE")


def pages(report: Report) -> Mapping[str, str]:
    """Each page's text by the name of its file; the same values give the same bytes."""
    sections = sections_of(report)
    return {
        layout.REPORT_HTML: report_html(report, sections),
        layout.REPORT_MARKDOWN: report_markdown(report, sections),
        layout.JUNIT: junit_xml(report),
    }


def report_html(report: Report, sections: tuple[Section, ...]) -> str:
    """The whole report as one file without scripts or references."""
    return html_page("report.html.j2", _context(report) | {"sections": sections})


def report_markdown(report: Report, sections: tuple[Section, ...]) -> str:
    """The report for a pull request or a job's page: what decides, and what to doubt."""
    by_name = {section.name: section.content for section in sections}
    return markdown_page("report.md.j2", _context(report) | {"section": by_name})


def _context(report: Report) -> dict[str, Any]:
    return {
        "stamp": report.stamp,
        "name": f"{report.plan.campaign} {report.plan.run}",
        "mark": report.stamp if report.stamp in _MARKED else "",
    }
