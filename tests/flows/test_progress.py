"""What is told on the way: a line per change of state, or a display that is redrawn."""

from __future__ import annotations

import datetime as dt
import errno
import io
import os

import pytest

from flows.progress import LiveProgress, Progress, bar, left, progress_for

NOON = dt.datetime(2026, 8, 22, 12, 0, tzinfo=dt.UTC)


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self):
        return True


def test_each_change_of_state_is_a_line_with_its_time_and_what_is_done():
    stream = io.StringIO()
    progress = Progress(stream, lambda: NOON)

    progress.begin(["B", "C"], 4)
    progress.state("B", "launch 0 starts")
    progress.state("B", "launch 0 starts")
    progress.cell_done(1.25, 90)
    progress.state("C", "launch 0 starts")

    assert stream.getvalue().splitlines() == [
        "12:00:00 B: launch 0 starts [0/4]",
        "12:00:00 C: launch 0 starts [1/4, $1.25, 1:30 min left]",
    ]
    assert progress.percent == 25


@pytest.mark.parametrize(
    ("environment", "kind"), [({}, LiveProgress), ({"NO_COLOR": "1"}, Progress)]
)
def test_a_terminal_has_a_display_unless_colours_are_not_wanted(environment, kind):
    assert type(progress_for(Terminal(), environment, lambda: NOON)) is kind


def test_a_pipe_has_lines():
    assert type(progress_for(io.StringIO(), {}, lambda: NOON)) is Progress


def test_the_display_has_a_line_per_candidate_a_bar_money_and_time(monkeypatch):
    monkeypatch.delenv("NO_COLOR")
    stream = Terminal()
    with LiveProgress(stream, lambda: NOON) as progress:
        progress.begin(["f16", "q8"], 2)
        progress.state("f16", "launch 0, closed-4")
        progress.detail("q8", "weights")
        progress.said("note: busy")
        progress.cell_done(0.5, 30)

    shown = stream.getvalue()
    assert "f16  launch 0, closed-4" in shown
    assert "q8   waiting  weights" in shown
    assert "12:00:00 note: busy" in shown
    assert "1/2 cells, $0.50, 30 s left" in shown


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0 s"), (59.4, "59 s"), (60, "1:00 min"), (3725, "1:02 h")]
)
def test_times_are_said_as_people_say_them(seconds, text):
    assert left(seconds) == text


def test_the_bar_is_full_when_all_is_done():
    assert bar(2, 2) == f"{'━' * 30} 2/2 cells"
    assert bar(0, 0) == f"{'─' * 30} 0/0 cells"


class Gone(io.StringIO):
    """A pipe whose reader has gone, or a terminal that was closed."""

    def __init__(self, number=errno.EPIPE, *, is_terminal=False):
        super().__init__()
        self.number = number
        self.is_terminal = is_terminal

    def isatty(self):
        return self.is_terminal

    def write(self, _text):
        raise OSError(self.number, os.strerror(self.number))

    def flush(self):
        raise OSError(self.number, os.strerror(self.number))


@pytest.mark.parametrize(
    ("stream", "kind"),
    [
        (Gone(), Progress),
        (Gone(errno.ENOSPC), Progress),
        (Gone(errno.EIO, is_terminal=True), LiveProgress),
    ],
)
def test_a_reader_that_goes_away_ends_no_campaign(stream, kind):
    progress = progress_for(stream, {}, lambda: NOON)

    assert type(progress) is kind
    with progress:
        progress.begin(["B"], 4)
        progress.state("B", "launch 0 starts")
        progress.said("note: nobody reads this")
        progress.detail("B", "boot")
        progress.cell_done(1.25, 90)
    assert progress.percent == 25
