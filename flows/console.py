"""What a person sees: framed tables on a terminal, stable plain text on a pipe."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from reports.tables import Cell, Table

if TYPE_CHECKING:
    from rich.text import Text

_STYLE = {"": "", "pass": "green", "fail": "bold red", "warn": "yellow", "none": "dim"}
_WIDTH = 100
_BETWEEN_COLUMNS, _EDGE = 3, 1
_UNBROKEN = 16  # longer words, such as paths, may be cut where a column ends


class Console:
    """Writes tables and paragraphs to a stream as suits what reads it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._is_terminal = stream.isatty()

    def heading(self, text: str) -> None:
        """One line that starts a part."""
        text = _printable(text)
        if not self._is_terminal:
            self._write(f"\n{text}")
            return
        from rich.console import Console as Rich  # noqa: PLC0415 - a pipe never pays for it

        Rich(file=self._stream, highlight=False).print(f"\n{text}", style="bold", markup=False)

    def paragraphs(self, lines: Iterable[str], indent: str = "  ") -> None:
        """Each sentence from a new line; a terminal wraps them, a pipe gets them whole."""
        for line in map(_printable, lines):
            self._write(self._wrapped(line, indent) if self._is_terminal else indent + line)

    def whole(self, line: str) -> None:
        """A line that is never wrapped, so that it can be copied."""
        self._write(_printable(line))

    def table(self, table: Table) -> None:
        """A framed table with colours on a terminal, aligned columns on a pipe.

        On a terminal that is too narrow for its words each row is a paragraph instead.
        """
        if self._is_terminal:
            frame = _BETWEEN_COLUMNS * len(table.columns) + _EDGE
            widths = _widths(table, shutil.get_terminal_size().columns - frame)
            if widths is None:
                self._stacked(table)
            else:
                self._framed(table, widths)
            return
        self.heading(table.title)
        for line in table.lines():
            self._write(_printable(line))

    def _wrapped(self, line: str, indent: str) -> str:
        return textwrap.fill(
            line,
            min(_WIDTH, shutil.get_terminal_size().columns),
            initial_indent=indent,
            subsequent_indent=indent + "  ",
            break_long_words=False,
            break_on_hyphens=False,
        )

    def _stacked(self, table: Table) -> None:
        self.heading(table.title)
        for row in table.rows:
            named = zip(table.columns[1:], row[1:], strict=True)
            self.paragraphs([row[0].line])
            self.paragraphs((f"{column.title}: {cell.line}" for column, cell in named), "    ")

    def _framed(self, table: Table, widths: Sequence[int]) -> None:
        from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - a pipe never pays for it
        from rich.console import Console as Rich  # noqa: PLC0415
        from rich.table import Table as Framed  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        framed = Framed(
            title=Text(_printable(table.title)), title_justify="left", box=SIMPLE_HEAD
        )
        for column, width in zip(table.columns, widths, strict=True):
            framed.add_column(
                Text(_printable(column.title)),
                justify="right" if column.right else "left",
                no_wrap=column.right,
                width=width,
                overflow="fold",
            )
        for row in table.rows:
            framed.add_row(*(_styled(cell) for cell in row))
        self._write("")
        Rich(file=self._stream, highlight=False).print(framed)

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")


def _widths(table: Table, room: int) -> list[int] | None:
    """Characters of each column so that all fit and no word is broken; None if none can."""
    columns = [_lines(table, index) for index in range(len(table.columns))]
    widths = [max(map(len, lines)) for lines in columns]
    least = [
        width if column.right else min(_UNBROKEN, _longest_word(lines))
        for column, lines, width in zip(table.columns, columns, widths, strict=True)
    ]
    if sum(least) > room:
        return None
    for _ in range(sum(widths) - room):
        widest = max(range(len(widths)), key=lambda index: widths[index] - least[index])
        widths[widest] -= 1
    return widths


def _lines(table: Table, index: int) -> list[str]:
    lines = [table.columns[index].title]
    for row in table.rows:
        lines += [row[index].text, row[index].detail]
    return lines


def _longest_word(lines: Iterable[str]) -> int:
    return max((len(word) for line in lines for word in line.split()), default=0)


def _printable(text: str) -> str:
    """``text`` without control characters, which a file could use to command a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


def _styled(cell: Cell) -> Text:
    from rich.text import Text  # noqa: PLC0415 - a pipe never pays for it

    text = Text(_printable(cell.text), style=_STYLE[cell.meaning])
    if cell.detail:
        text.append(f"\n{_printable(cell.detail)}", style="dim")
    return text
