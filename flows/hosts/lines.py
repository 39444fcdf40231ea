"""A line from a process of ours, waited for in bounded time."""

from __future__ import annotations

import os
import select
import time
from typing import IO

_MOST_READ = 1 << 16


def line_within(stream: IO[bytes] | None, limit_s: float) -> bytes:
    """The next line without its end; empty where none comes in time."""
    if stream is None:
        return b""
    until_s, line = time.monotonic() + limit_s, b""
    while not line.endswith(b"\n"):
        left_s = until_s - time.monotonic()
        if left_s <= 0 or not select.select([stream], [], [], left_s)[0]:
            return b""
        # one process, one line at a time: nothing of a later one is taken
        piece = os.read(stream.fileno(), _MOST_READ)
        if not piece:
            return b""
        line += piece
    return line.rstrip(b"\n")
