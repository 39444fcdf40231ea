"""One time base for all stamps: monotonic nanoseconds, also for what the kernel stamped."""

import socket
import struct
from time import monotonic_ns, time_ns

# Linux, 64 bit: SO_TIMESTAMPNS; the control message that comes with each read has this type.
SO_TIMESTAMPNS = 35
ANCILLARY_BYTES = socket.CMSG_SPACE(16)

_SECONDS_AND_NS = struct.Struct("qq")
_SLIP_NS = 20_000


def wall_offset_ns() -> int:
    """Wall clock minus monotonic clock in ns: the tightest of a few paired readings."""
    _, offset_ns = min(_paired_reading() for _ in range(5))
    return offset_ns


def _paired_reading() -> tuple[int, int]:
    before_ns = monotonic_ns()
    wall_ns = time_ns()
    after_ns = monotonic_ns()
    return after_ns - before_ns, wall_ns - (before_ns + after_ns) // 2


class ArrivalClock:
    """Monotonic time at which the kernel received the bytes of a read.

    The kernel stamps arriving segments by the wall clock (socket option SO_TIMESTAMPNS), so
    that a stamp does not depend on when this process got to run. Both clocks are slewed
    together; only a step of the wall clock changes their offset, and `check` sees it.
    """

    def __init__(self) -> None:
        self.offset_ns = wall_offset_ns()
        self.steps = 0
        self.without_stamp = 0

    def arrival_ns(self, ancillary: list[tuple[int, int, bytes]]) -> int:
        """Monotonic ns of the arrival; now, where the kernel gave no stamp."""
        if ancillary:
            seconds: int
            nanoseconds: int
            seconds, nanoseconds = _SECONDS_AND_NS.unpack(ancillary[0][2])
            return seconds * 1_000_000_000 + nanoseconds - self.offset_ns
        self.without_stamp += 1
        return monotonic_ns()

    def check(self) -> None:
        """Follow the wall clock where it was stepped, and count the steps."""
        offset_ns = wall_offset_ns()
        if abs(offset_ns - self.offset_ns) > _SLIP_NS:
            self.offset_ns = offset_ns
            self.steps += 1
