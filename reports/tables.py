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
    """What stands in a cell, what it means (colour is never the only sign), and a detail."""

    text: str
    meaning: Meaning = ""
    detail: str = ""

    @property
    def line(self) -> str:
        """Text and detail on one line."""
        return f"{self.text} ({self.detail})" if self.detail else self.text


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Rows of cells under their headings."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]

    def lines(self) -> Iterator[str]:
        """The table as aligned text: two spaces between columns, never cut, no frame."""
        texts = [[column.title for column in self.columns]]
        texts += [[cell.line for cell in row] for row in self.rows]
        widths = [max(map(len, column)) for column in zip(*texts, strict=True)]
        for row in texts:
            cells = [
                text.rjust(width) if column.right else text.ljust(width)
                for text, width, column in zip(row, widths, self.columns, strict=True)
            ]
            yield "  ".join(cells).rstrip()
