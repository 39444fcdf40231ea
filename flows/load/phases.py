"""Which requests are warm-up, which are measured, and which only hold the load."""

from flows.load.plan import PlanHeader
from flows.load.raw import Phase

_NS_PER_S = 1_000_000_000


class Phases:
    """Tags requests in the order in which they fall due.

    At most `warmup.requests` are warm-up, fewer if `converge` is called before; in a closed
    loop at least the first C, whose common start is no steady load, unless none is asked
    for. Then `measured_requests` are measured, or those due within `duration_s` of the
    first; all behind them are drain.
    """

    def __init__(self, header: PlanHeader) -> None:
        wanted = header.warmup.requests
        first_wave = header.concurrency or 0 if header.arrival == "closed" and wanted else 0
        self._first_wave = first_wave
        self._limit = max(wanted, first_wave)
        self._duration_ns = (
            None if header.duration_s is None else round(header.duration_s * _NS_PER_S)
        )
        self._last = (
            None if header.measured_requests is None else self._limit + header.measured_requests
        )
        self._tagged = 0
        self._outstanding = 0
        self._end_ns: int | None = None
        self._is_stopped = False
        self.warmup_requests = 0
        self.has_converged = False
        self.window: tuple[int, int] | None = None

    def tag(self, scheduled_ns: int | None) -> Phase:
        """Phase of the next request to fall due, at `scheduled_ns` (None: it never will)."""
        phase = self._phase(scheduled_ns)
        self._tagged += 1
        if phase == "warmup":
            self.warmup_requests += 1
        elif phase == "measured":
            self._outstanding += 1
            if scheduled_ns is not None:
                self._widen(scheduled_ns)
        return phase

    def _phase(self, scheduled_ns: int | None) -> Phase:
        if self._in_warmup():
            return "warmup"
        if self._last is not None:
            return "measured" if self._tagged < self._last else "drain"
        late = scheduled_ns is not None and self._is_past_end(scheduled_ns)
        return "drain" if late else "measured"

    def _in_warmup(self) -> bool:
        limit = self._first_wave if self.has_converged else self._limit
        return self._tagged < limit

    def _is_past_end(self, at_ns: int) -> bool:
        return self._end_ns is not None and at_ns >= self._end_ns

    def _widen(self, scheduled_ns: int) -> None:
        first_ns, last_ns = self.window or (scheduled_ns, scheduled_ns)
        self.window = (min(first_ns, scheduled_ns), max(last_ns, scheduled_ns))
        if self._duration_ns is not None and self._end_ns is None:
            self._end_ns = scheduled_ns + self._duration_ns

    def converge(self) -> None:
        """The warm-up has ended: requests that fall due from now on are measured."""
        self.has_converged = True

    def ended(self, phase: Phase) -> None:
        """Note that a tagged request will be heard of no more."""
        if phase == "measured":
            self._outstanding -= 1

    def is_over(self, now_ns: int) -> bool:
        """Whether all measured requests have fallen due and have ended."""
        if self._is_stopped:
            return True
        if self._outstanding or self._in_warmup():
            return False
        if self._last is not None:
            return self._tagged >= self._last
        return self._is_past_end(now_ns)

    def is_full(self) -> bool:
        """Whether as many requests have fallen due as the plan wants measured."""
        return self._last is None or self._tagged >= self._last

    def promises(self, due_ns: int | None) -> bool:
        """Whether the next request, due at `due_ns`, would count as planned."""
        if self._last is not None:
            return self._tagged < self._last
        return due_ns is not None and not self._is_past_end(due_ns)

    def stop(self) -> None:
        """No further request falls due."""
        self._is_stopped = True
