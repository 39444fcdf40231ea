"""Waiting for sockets and for moments, the latter to some microseconds.

Linux only: epoll tells which sockets are ready, but its timeout counts whole milliseconds.
The last one before a moment is therefore waited in select(), whose timeout counts
microseconds, on the epoll descriptor itself.
"""

import contextlib
import select
from collections.abc import Callable
from pathlib import Path
from time import monotonic_ns, sleep
from types import TracebackType
from typing import Self

if not hasattr(select, "epoll"):
    raise ImportError("the load process runs on Linux only: it needs epoll")

READABLE, WRITABLE = select.EPOLLIN, select.EPOLLOUT

_MS_IN_NS = 1_000_000
# Small, so that a request that falls due is not kept waiting behind a long batch of answers.
_BATCH, _AT_LEAST = 64, 8
# While several streams are active a nap gathers what arrives into one wake-up, which halves
# the cost of waiting. It blurs no stamp, since the kernel stamps what arrives.
_SOME, _MANY = 2, 48
_NAP_S, _NAP_LIMIT_NS = 0.0005, 800_000
_TIMER_SLACK = Path("/proc/self/timerslack_ns")

Callback = Callable[[int], None]


def ask_for_exact_timers() -> None:
    """Let the kernel end this process's waits 1 µs late at most, not 50 as by default."""
    with contextlib.suppress(OSError):
        _TIMER_SLACK.write_text("1000")


class Poller:
    """Calls back for each ready descriptor, with its event mask."""

    def __init__(self) -> None:
        self._epoll = select.epoll()
        self._callbacks: dict[int, Callback] = {}

    def watch(self, fd: int, mask: int, callback: Callback) -> None:
        self._callbacks[fd] = callback
        self._epoll.register(fd, mask)

    def change(self, fd: int, mask: int, callback: Callback) -> None:
        self._callbacks[fd] = callback
        self._epoll.modify(fd, mask)

    def forget(self, fd: int) -> None:
        """Stop calling back; the caller closes `fd`, which takes it out of the kernel's set."""
        del self._callbacks[fd]

    def turn(self, until_ns: int) -> int:
        """Call back for what is ready, waiting for it until the monotonic time `until_ns`.

        Returned is how many descriptors were ready.
        """
        callbacks = self._callbacks
        ready = self._ready(until_ns)
        for done, (fd, mask) in enumerate(ready):
            # What is due goes first; the rest of the batch stays ready for the next turn.
            if done >= _AT_LEAST and monotonic_ns() >= until_ns:
                break
            # A callback may have closed a descriptor that is later in the same batch.
            callback = callbacks.get(fd)
            if callback is not None:
                callback(mask)
        if _SOME <= len(ready) < _MANY and until_ns - monotonic_ns() > _NAP_LIMIT_NS:
            sleep(_NAP_S)
        return len(ready)

    def _ready(self, until_ns: int) -> list[tuple[int, int]]:
        left_ns = until_ns - monotonic_ns()
        if left_ns >= _MS_IN_NS:
            # poll() rounds up: half a millisecond less makes it the whole ones that fit.
            return self._epoll.poll((left_ns // _MS_IN_NS - 0.5) / 1_000, _BATCH)
        if left_ns > 0:
            select.select((self._epoll,), (), (), left_ns / 1e9)
        return self._epoll.poll(0, _BATCH)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._epoll.close()
