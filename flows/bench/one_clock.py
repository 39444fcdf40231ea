"""What several machines stamped, each by its own clock, on one time line."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, replace

from flows.load.raw import RawRequest, RawRun
from flows.remote.clock import Offset


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A machine's clock against ours before and after a load."""

    before: Offset
    after: Offset

    @property
    def ahead_ns(self) -> int:
        """How far its clock was ahead in the middle of the load."""
        return (self.before.ahead_ns + self.after.ahead_ns) // 2

    @property
    def error_ns(self) -> int:
        """By how much a time of the load may be misplaced on our clock, at most.

        The round trip bounds each comparison; what the clocks ran apart between them is
        halved by taking the middle.
        """
        apart_ns = abs(self.after.ahead_ns - self.before.ahead_ns)
        return max(self.before.error_ns, self.after.error_ns) + (apart_ns + 1) // 2

    def to_json(self) -> dict[str, float]:
        """Offset, change and uncertainty in ms."""
        change_ns = self.after.ahead_ns - self.before.ahead_ns
        return {
            "clock_ahead_ms": self.ahead_ns / 1e6,
            "clock_change_ms": change_ns / 1e6,
            "clock_error_ms": self.error_ns / 1e6,
        }


def moved(run: RawRun, by_ns: int, anchor: tuple[int, int]) -> RawRun:
    """The run with all its times later by ``by_ns``, which changes no difference of two.

    ``anchor`` is a monotonic and a wall-clock time of the clock to which they were moved.
    """
    return replace(
        run,
        anchor_monotonic_ns=anchor[0],
        anchor_unix_ns=anchor[1],
        zero_ns=run.zero_ns + by_ns,
        started_ns=run.started_ns + by_ns,
        ended_ns=run.ended_ns + by_ns,
        window=None if run.window is None else (run.window[0] + by_ns, run.window[1] + by_ns),
        connections=tuple(
            replace(each, opened_ns=each.opened_ns + by_ns) for each in run.connections
        ),
        requests=tuple(_moved(request, by_ns) for request in run.requests),
    )


def _moved(request: RawRequest, by_ns: int) -> RawRequest:
    return replace(
        request,
        scheduled_ns=_later(request.scheduled_ns, by_ns),
        slot_free_ns=_later(request.slot_free_ns, by_ns),
        sent_ns=_later(request.sent_ns, by_ns),
        first_byte_ns=_later(request.first_byte_ns, by_ns),
        done_ns=_later(request.done_ns, by_ns),
        stamps_ns=array("q", (stamp + by_ns for stamp in request.stamps_ns)),
    )


def _later(at_ns: int | None, by_ns: int) -> int | None:
    return None if at_ns is None else at_ns + by_ns
