"""A terminal gets frames and colour; a pipe gets plain text that is never cut."""

from __future__ import annotations

import io
import re

import pytest

from flows.console import Console
from reports.tables import Cell, Column, Table

TABLE = Table(
    title="Verdicts [bold]not markup[/bold]",
    columns=(Column(title="candidate"), Column(title="price", right=True)),
    rows=(
        (Cell(text="a" * 150), Cell(text="$4.50/h", meaning="fail", detail="stale")),
        (Cell(text="[red]B[/red]"), Cell(text="–")),
    ),
)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written(stream: io.StringIO) -> str:
    console = Console(stream)
    console.heading("Choice")
    console.table(TABLE)
    console.paragraphs(["word " * 40 + "end."])
    return stream.getvalue()


def test_a_pipe_gets_no_frame_no_colour_and_nothing_cut() -> None:
    text = written(io.StringIO())

    assert not set(text) & set("│┃─━╭╮╰╯┏┓\x1b…")
    assert "a" * 150 in text
    assert "$4.50/h (stale)" in text
    assert "  " + "word " * 40 + "end." in text.splitlines()


def test_the_numbers_of_a_piped_column_stand_at_the_right() -> None:
    header, first, second = list(TABLE.lines())

    assert header.endswith("price")
    assert len(header) == len(first) == len(second)


def test_a_terminal_wraps_and_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    text = written(Terminal())

    assert "─" in text
    assert "\x1b[" in text
    assert max(len(line) for line in text.splitlines() if "word word" in line) <= 100


VERDICTS = Table(
    title="Verdicts",
    columns=(
        *(Column(title=word) for word in ("candidate", "layout", "verdict", "rank")),
        Column(title="best $/1M b", right=True),
    ),
    rows=(
        (
            Cell(text="B"),
            Cell(text="2× NVIDIA A100 SXM4 80GB, TP=2"),
            Cell(text="pass", detail="bfloat16"),
            Cell(text="cost-inefficient"),
            Cell(text="$0.538"),
        ),
    ),
)


@pytest.mark.parametrize("columns", range(30, 120))
def test_no_word_is_broken_or_lost_however_narrow_the_terminal(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = Terminal()
    Console(stream).table(VERDICTS)
    plain = re.sub(r"\x1b\[[\d;]*m", "", stream.getvalue())

    for word in ("verdict", "NVIDIA", "SXM4", "bfloat16", "cost-inefficient", "$0.538"):
        assert word in plain
    assert max(map(len, plain.splitlines())) <= columns


def test_no_color_leaves_a_terminal_without_colour(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")

    assert "\x1b[31m" not in written(Terminal())


def test_a_table_stands_apart_from_what_is_above_it() -> None:
    for stream in (io.StringIO(), Terminal()):
        lines = [line.rstrip() for line in written(stream).splitlines()]

        title = next(i for i, line in enumerate(lines) if line.startswith("Verdicts"))
        assert lines[title - 1] == ""


@pytest.mark.parametrize("stream", [io.StringIO(), Terminal()])
def test_text_of_a_file_is_never_markup_nor_an_escape_sequence(stream: io.StringIO) -> None:
    console = Console(stream)
    console.table(TABLE)
    console.paragraphs(["evil \x1b]0;title\x07 text"])

    assert "[red]B[/red]" in stream.getvalue()
    assert "[bold]not markup[/bold]" in stream.getvalue()
    assert "\x1b]0;" not in stream.getvalue()
