"""Ctrl-C, SIGTERM and SIGHUP: one way to end, wherever the command stands.

A signal that the caller had ignored (``nohup``, a shell's background job) stays ignored, and
only a main thread may set handlers: elsewhere nothing changes.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Final

_LIKE_CTRL_C: Final = (signal.SIGTERM, signal.SIGHUP)

Handler = Callable[[int, FrameType | None], None]


@contextmanager
def endings_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP raise KeyboardInterrupt, so that what was begun is cleaned up."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    with _handled(_LIKE_CTRL_C, interrupt):
        yield


@contextmanager
def endings_held() -> Iterator[None]:
    """Signals that end are heard at the end of the block, as KeyboardInterrupt."""
    heard: list[int] = []

    def note(number: int, _frame: FrameType | None) -> None:
        heard.append(number)

    with _handled((signal.SIGINT, *_LIKE_CTRL_C), note):
        yield
    if heard:
        raise KeyboardInterrupt


@contextmanager
def _handled(numbers: tuple[signal.Signals, ...], handler: Handler) -> Iterator[None]:
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    own = [number for number in numbers if signal.getsignal(number) != signal.SIG_IGN]
    before = [(number, signal.signal(number, handler)) for number in own]
    try:
        yield
    finally:
        for number, earlier in before:
            signal.signal(number, earlier)
