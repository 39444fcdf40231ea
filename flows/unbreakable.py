"""Output whose reader may go away during a campaign: a pipe, a terminal, a full disk."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, TextIO

_GONE: Final = (errno.EPIPE, errno.EIO)  # a pipe without a reader, a terminal that was closed


class Unbreakable:
    """A text stream that drops what it cannot write: telling how far it is ends no campaign."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        """Write if that can be done; returns how much there was to write."""
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Bring out what was written, if that can be done."""
        with suppress(OSError):
            self._stream.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def reader_may_leave(stream: TextIO) -> Iterator[None]:
    """Within the block a reader that goes away takes the rest of the output with it, no more.

    The null device is put in its place, or the interpreter would fail at its own last flush.
    """
    try:
        yield
        stream.flush()
    except SystemExit:  # what rich makes of a broken pipe, with the null device in its place
        return
    except OSError as error:
        if error.errno not in _GONE:
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
