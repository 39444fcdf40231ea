"""The report's sections: one module and one template each, in the order of their names.

A module has ``TITLE`` and ``section``, which returns what its template needs, or None where
the run has nothing to say there. Adding the two files is all that a new section takes.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from reports.report import Report


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One section of a page: its anchor, its heading, its template and what that needs."""

    name: str
    anchor: str
    title: str
    template: str
    content: Mapping[str, Any]


def sections_of(report: Report) -> tuple[Section, ...]:
    """The sections that have something to say, in the order of the page."""
    return tuple(_sections(report))


def _sections(report: Report) -> Iterator[Section]:
    for name in names():
        module = importlib.import_module(f"{__name__}.{name}")
        content = module.section(report)
        if content is not None:
            yield Section(
                name=name,
                anchor=name.partition("_")[2].replace("_", "-"),
                title=module.TITLE,
                template=f"{name}.html.j2",
                content=content,
            )


def names() -> tuple[str, ...]:
    """The modules of the sections, in order."""
    return tuple(sorted(each.name for each in pkgutil.iter_modules(__path__)))
