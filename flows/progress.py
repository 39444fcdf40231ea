"""How far a campaign is: a live display on a terminal, a line per change of state elsewhere."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Final, Self, TextIO, cast

from flows.unbreakable import Unbreakable

if TYPE_CHECKING:
    from rich.console import Group
    from rich.live import Live

_PER_SECOND: Final = 2  # it shares the machine with what is measured
_BAR: Final = 30

Clock = Callable[[], dt.datetime]


class Progress:
    """What is told on the way; this one writes plain lines with their time."""

    def __init__(self, stream: TextIO, now: Clock) -> None:
        self._stream = Unbreakable(stream)
        self._now = now
        self._lock = threading.RLock()
        self._states: dict[str, str] = {}
        self._done = 0
        self._total = 0
        self._usd: float | None = None
        self._left_s: float | None = None

    def begin(self, candidates: Iterable[str], cells: int) -> None:
        """The campaign begins, or goes on, with so many cells before it."""
        with self._lock:
            self._states = dict.fromkeys(candidates, "waiting")
            self._total = cells
            self._changed()

    def more_cells(self, count: int) -> None:
        """So many more are to be measured than was known."""
        with self._lock:
            self._total += count
            self._changed()

    def said(self, text: str) -> None:
        """Something that is worth a line of its own."""
        with self._lock:
            self._stream.write(f"{self._now():%H:%M:%S} {text}\n")
            self._stream.flush()

    def state(self, candidate: str, text: str) -> None:
        """What a candidate does now."""
        with self._lock:
            if self._states.get(candidate) != text:
                self._states[candidate] = text
                self._line(candidate, text)
                self._changed()

    def detail(self, candidate: str, text: str) -> None:
        """How far a step of a candidate is; only a live display shows it."""

    def cell_done(self, usd: float, left_s: float) -> None:
        """One more cell is kept or will not be measured; money spent, seconds left."""
        with self._lock:
            self._done += 1
            self._usd, self._left_s = usd, left_s
            self._changed()

    @property
    def percent(self) -> float:
        """The share of cells that are done, in percent."""
        return 100 * self._done / self._total if self._total else 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        return None

    def _line(self, candidate: str, text: str) -> None:
        self.said(f"{candidate}: {text}{self._count()}")

    def _count(self) -> str:
        return f" [{self._done}/{self._total}{self._rest()}]" if self._total else ""

    def _rest(self) -> str:
        if self._left_s is None or self._usd is None:
            return ""
        return f", ${self._usd:.2f}, {left(self._left_s)} left"

    def _changed(self) -> None:
        """The numbers have changed; plain lines carry them with the next change of state."""


class LiveProgress(Progress):
    """One line per candidate and a bar for cells, redrawn in place."""

    def __init__(self, stream: TextIO, now: Clock) -> None:
        super().__init__(stream, now)
        from rich.console import Console  # noqa: PLC0415 - a pipe never pays for it
        from rich.live import Live  # noqa: PLC0415

        self._console = Console(file=cast("TextIO", self._stream), highlight=False)
        self._live: Live = Live(
            console=self._console,
            refresh_per_second=_PER_SECOND,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._details: dict[str, str] = {}

    def said(self, text: str) -> None:
        """A line above the display."""
        self._console.print(f"{self._now():%H:%M:%S} {text}", markup=False)

    def detail(self, candidate: str, text: str) -> None:
        """Shown behind the candidate's state until that changes."""
        with self._lock:
            self._details[candidate] = text
            self._changed()

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._live.stop()

    def _line(self, candidate: str, text: str) -> None:
        del text  # the display shows it
        self._details.pop(candidate, None)

    def _changed(self) -> None:
        self._live.update(self._drawn())

    def _drawn(self) -> Group:
        from rich.console import Group  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415

        width = max((len(name) for name in self._states), default=0)
        lines = [
            Text(
                f"{name:<{width}}  {state}  {self._details.get(name, '')}", overflow="ellipsis"
            )
            for name, state in self._states.items()
        ]
        for line in lines:
            line.no_wrap = True
        return Group(*lines, Text(f"{bar(self._done, self._total)}{self._rest()}"))


def progress_for(stream: TextIO, environment: Mapping[str, str], now: Clock) -> Progress:
    """What suits the stream: a live display on a terminal, plain lines with NO_COLOR."""
    if stream.isatty() and not environment.get("NO_COLOR"):
        return LiveProgress(stream, now)
    return Progress(stream, now)


def bar(done: int, total: int) -> str:
    """So many of all cells, as a bar and as numbers."""
    filled = round(_BAR * done / total) if total else 0
    return f"{'━' * filled}{'─' * (_BAR - filled)} {done}/{total} cells"


def left(seconds: float) -> str:
    """A time that is left, as people say it."""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"
