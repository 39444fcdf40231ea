"""A server's log while it grows: whole lines, each with the time at which it was first seen.

However much a server writes, one reading is bounded, and so is one line.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

_READ_BYTES: Final = 1 << 22
_LINE_BYTES: Final = 1 << 16  # of a longer line the rest is passed over
_LAST_BYTES: Final = 1 << 26  # of what a dead server left unread, the end
_TAIL_LINES: Final = 20
_SHOWN: Final = 300
_BREAK: Final = re.compile(rb"[\r\n]+")  # progress bars end their lines with \r
_COLOUR: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(slots=True)
class LogReader:
    """Reads on from where it stopped; ``tail`` are the last lines that say something."""

    path: Path
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_TAIL_LINES))
    _offset: int = 0
    _rest: bytes = b""

    def lines(self) -> list[str]:
        """New whole lines, at most some megabytes of them."""
        with self.path.open("rb") as file:
            file.seek(self._offset)
            data = file.read(_READ_BYTES)
        self._offset += len(data)
        *whole, rest = _BREAK.split(self._rest + data)
        self._rest = rest[:_LINE_BYTES]
        return self._kept(whole)

    def rest(self) -> Iterator[str]:
        """What is still unread once the server has ended, with its unfinished last line."""
        self._offset = max(self._offset, self.path.stat().st_size - _LAST_BYTES)
        while found := self.lines():
            yield from found
        last, self._rest = self._rest, b""
        yield from self._kept([last])

    @property
    def last_line(self) -> str:
        """What the server said last."""
        return self.tail[-1] if self.tail else "it wrote nothing"

    def _kept(self, raw: list[bytes]) -> list[str]:
        texts = (_COLOUR.sub("", line[:_LINE_BYTES].decode(errors="replace")) for line in raw)
        kept = [text.rstrip() for text in texts if text.strip()]
        self.tail.extend(kept)
        return kept


def short(line: str) -> str:
    """A line as an error or a progress display can hold it."""
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
