"""What a person sees: framed tables on a terminal, stable plain text on a pipe."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, TextIO

from reports.tables import Cell, Table

if TYPE_CHECKING:
    from rich.text import Text

_STYLE = {"": "", "pass": "green", "fail": "bold red", "warn": "yellow", "none": "dim"}
_WIDTH = 100


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

    def table(self, table: Table) -> None:
        """A framed table with colours on a terminal, aligned columns on a pipe."""
        if self._is_terminal:
            self._framed(table)
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

    def _framed(self, table: Table) -> None:
        from rich.box import SIMPLE_HEAD  # noqa: PLC0415 - a pipe never pays for it
        from rich.console import Console as Rich  # noqa: PLC0415
        from rich.table import Table as Framed  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        framed = Framed(
            title=Text(_printable(table.title)), title_justify="left", box=SIMPLE_HEAD
        )
        for column in table.columns:
            framed.add_column(
                Text(_printable(column.title)),
                justify="right" if column.right else "left",
                no_wrap=column.right,
                overflow="fold",
            )
        for row in table.rows:
            framed.add_row(*(_styled(cell) for cell in row))
        Rich(file=self._stream, highlight=False).print(framed)

    def _write(self, text: str) -> None:
        self._stream.write(text + "\n")


def _printable(text: str) -> str:
    """``text`` without control characters, which a file could use to command a terminal."""
    return "".join(character if character.isprintable() else "�" for character in text)


def _styled(cell: Cell) -> Text:
    from rich.text import Text  # noqa: PLC0415 - a pipe never pays for it

    text = Text(_printable(cell.text), style=_STYLE[cell.meaning])
    if cell.detail:
        text.append(f"\n{_printable(cell.detail)}", style="dim")
    return text
