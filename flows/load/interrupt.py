"""What ends a run early: Ctrl-C, SIGTERM, a closed terminal, the death of who started it."""

import os
import signal
import socket
from types import FrameType, TracebackType
from typing import Self

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Interrupt:
    """While entered, SIGINT, SIGTERM and SIGHUP set `is_set` and make `fd` readable.

    `home` is the process for which the run is done, None: it goes on by itself.
    """

    def __init__(self, home: int | None = None) -> None:
        self.is_set = False
        self._home = home
        self._wake, self._signalled = socket.socketpair()
        self._wake.setblocking(False)
        self._signalled.setblocking(False)

    @property
    def fd(self) -> int:
        return self._signalled.fileno()

    def noted(self, _mask: int) -> None:
        """Take what the signals have written, so that `fd` is not readable any more."""
        self._signalled.recv(4096)

    def look_home(self) -> None:
        """Be set where the home process is no more: nobody would read what is measured.

        The kernel's own signal for that (PR_SET_PDEATHSIG) comes already when the thread
        ends that had started this process.
        """
        if self._home is not None and os.getppid() != self._home:
            self.is_set = True

    def __enter__(self) -> Self:
        self._previous_fd = signal.set_wakeup_fd(self._wake.fileno())
        self._previous = [signal.signal(number, self._set) for number in _SIGNALS]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in zip(_SIGNALS, self._previous, strict=True):
            signal.signal(number, handler)
        signal.set_wakeup_fd(self._previous_fd)
        self._wake.close()
        self._signalled.close()

    def _set(self, _number: int, _frame: FrameType | None) -> None:
        self.is_set = True
