"""A table as values: columns, and cells with a meaning; terminals and pages draw it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

Meaning = Literal["", "pass", "fail", "warn", "none"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A heading with the unit of what stands below it; numbers stand at the right."""

    title: str
    right: bool = False
    unit: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What stands in a cell, what it means (colour is never the only sign), and a detail.

    ``limits`` is the interval of the number above it; ``columns`` is how many the cell spans.
    """

    text: str
    meaning: Meaning = ""
    detail: str = ""
    limits: str = ""
    columns: int = 1

    @property
    def line(self) -> str:
        """Text, limits and detail on one line."""
        below = "; ".join(part for part in (self.limits, self.detail) if part)
        return f"{self.text} ({below})" if below else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under their headings."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def lines(self) -> Iterator[str]:
        """The table as aligned text: two spaces between columns, never cut, no frame."""
        texts = [[column.title for column in self.columns]]
        texts += [
            [text for cell in row for text in (cell.line, *[""] * (cell.columns - 1))]
            for row in self.rows
        ]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        for row in texts:
            cells = [
                text.rjust(width) if column.right else text.ljust(width)
                for text, width, column in zip(row, widths, self.columns, strict=True)
            ]
            yield "  ".join(cells).rstrip()
