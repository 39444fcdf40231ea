"""Waits that are bounded, tell why they wait, and can be given up."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

_SLICE_S: Final = 1.0


def moments(
    limit_s: float,
    *,
    first_s: float,
    most_s: float,
    tell: Callable[[], None] = lambda: None,
) -> Iterator[None]:
    """Now, and again after pauses that double up to ``most_s``, until ``limit_s`` are over.

    ``tell`` is called about once a second of a pause; what it raises ends the wait.
    """
    end, pause = time.monotonic() + limit_s, first_s
    while True:
        yield
        left = end - time.monotonic()
        if left <= 0:
            return
        until = time.monotonic() + min(pause, left)
        while (rest := until - time.monotonic()) > 0:
            tell()
            time.sleep(min(rest, _SLICE_S))
        pause = min(2 * pause, most_s)
