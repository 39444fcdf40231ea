"""One absolute deadline on the monotonic clock, kept to tens of microseconds."""

from __future__ import annotations

import asyncio
import ctypes
import os
import time
from collections.abc import Callable
from typing import Protocol

CLOCK_MONOTONIC = 1
TFD_NONBLOCK = os.O_NONBLOCK
TFD_TIMER_ABSTIME = 1
EVENT_LOOP_TICK_NS = 2_000_000


class Deadline(Protocol):
    """Calls back once when the monotonic clock reaches a set time."""

    def set(self, at_ns: int) -> None:
        """Arm for this time; a time in the past fires at once."""

    def close(self) -> None:
        """Disarm for good."""


class _Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class _Setting(ctypes.Structure):
    _fields_ = (("interval", _Timespec), ("value", _Timespec))


class KernelDeadline:
    """A Linux timer descriptor: event loops tick in milliseconds, the kernel does not."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._descriptor = self._libc.timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK)
        if self._descriptor < 0:
            raise OSError(ctypes.get_errno(), "timerfd_create")
        self._setting = _Setting()
        self._pointer = ctypes.byref(self._setting)
        loop.add_reader(self._descriptor, self._fire)

    def set(self, at_ns: int) -> None:
        """Arm for this time; a time in the past fires at once."""
        value = self._setting.value
        value.seconds, value.nanoseconds = divmod(max(at_ns, 1), 1_000_000_000)
        self._libc.timerfd_settime(self._descriptor, TFD_TIMER_ABSTIME, self._pointer, None)

    def close(self) -> None:
        """Disarm for good."""
        self._loop.remove_reader(self._descriptor)
        os.close(self._descriptor)

    def _fire(self) -> None:
        try:
            os.read(self._descriptor, 8)
        except BlockingIOError:  # re-armed between readiness and this call
            return
        self._callback()


class LoopDeadline:
    """Where there is no timer descriptor: the loop's timer, then turns of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> None:
        self._loop = loop
        self._callback = callback
        self._handle: asyncio.Handle | None = None
        self._at_ns = 0

    def set(self, at_ns: int) -> None:
        """Arm for this time; a time in the past fires at once."""
        self.close()
        self._at_ns = at_ns
        delay_ns = at_ns - time.monotonic_ns() - EVENT_LOOP_TICK_NS
        if delay_ns > 0:
            self._handle = self._loop.call_later(delay_ns / 1e9, self._turn)
        else:
            self._handle = self._loop.call_soon(self._turn)

    def close(self) -> None:
        """Disarm."""
        if self._handle is not None:
            self._handle.cancel()

    def _turn(self) -> None:
        if time.monotonic_ns() < self._at_ns:
            self._handle = self._loop.call_soon(self._turn)
        else:
            self._callback()


def deadline(loop: asyncio.AbstractEventLoop, callback: Callable[[], None]) -> Deadline:
    """Return the most precise deadline that this system has."""
    if hasattr(ctypes.CDLL(None), "timerfd_create"):
        return KernelDeadline(loop, callback)
    return LoopDeadline(loop, callback)
