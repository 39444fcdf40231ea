"""The figures of one section: those that have data, and why the others are left out."""

from __future__ import annotations

from typing import Any, Protocol

from reports.figures.canvas import Drawing
from reports.report import Report


class FigureModule(Protocol):
    """A module that makes one figure."""

    NAME: str

    def figure(self, report: Report) -> Drawing | str:
        """The figure, or a sentence on why there is none."""


def gathered(report: Report, *modules: FigureModule) -> dict[str, Any]:
    """``drawings`` in order, and a line for each figure ``left_out``."""
    made = [(module.NAME, module.figure(report)) for module in modules]
    return {
        "drawings": tuple(each for _, each in made if isinstance(each, Drawing)),
        "left_out": tuple(
            f"Figure {name.replace('-', ' ')} is left out: {each}."
            for name, each in made
            if isinstance(each, str)
        ),
    }
