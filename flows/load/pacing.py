"""Which request starts when: one absolute schedule, a cap, closed loops, sessions.

Nothing here reads a clock or waits: the caller tells what time it is and what has ended.
"""

import heapq
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from flows.load.phases import Phases
from flows.load.plan import Plan, PlannedRequest
from flows.load.raw import Phase


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A request that is due: since when, and when the slot that it waited for came free."""

    request: PlannedRequest
    phase: Phase
    scheduled_ns: int | None
    slot_free_ns: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Unsent:
    """A planned request that will not be sent, and why."""

    start: Start
    reason: str


class Pacing:
    """Hands out requests when they are due and a slot is free.

    Open loop: a request is due at zero plus its `at_ns`, and waits where the cap binds.
    Closed loop: it is due when a slot comes free. A later turn is due its think time after
    the end of the turn before; if that turn failed, the rest of its session is not sent.
    Once no measured request is left the requests behind them are not started any more.
    `fell_early_ns` is how long the last measured answer outlasted the last request of a
    plan that ran out, so that the load was no more what it was.
    """

    def __init__(self, plan: Plan) -> None:
        header = plan.header
        self._zero_ns = 0
        self._is_closed = header.arrival == "closed"
        self._is_capped = header.concurrency is not None
        self._free_ns = [0] * (header.concurrency or 0)
        self._ahead = deque(request for request in plan.requests if request.turn == 0)
        self._turns: dict[int, deque[PlannedRequest]] = {}
        for request in plan.requests:
            if request.turn:
                self._turns.setdefault(request.session, deque()).append(request)
        self._later: list[tuple[int, int, PlannedRequest]] = []
        self._queue: deque[Start] = deque()
        self._unsent: list[Unsent] = []
        self.phases = Phases(header)
        self.in_flight = 0
        self.in_flight_peak = 0
        self.fell_early_ns = 0
        self._last_due_ns: int | None = None

    def begin(self, zero_ns: int) -> None:
        """Set the schedule's zero, at which all slots are free."""
        self._zero_ns = zero_ns
        self._free_ns = [zero_ns] * len(self._free_ns)

    def due(self, now_ns: int) -> Iterator[Start]:
        """Requests to start now, each of which takes a slot until it is told as ended."""
        while now_ns >= self._zero_ns and self._is_open(now_ns):
            start = self._next_closed(now_ns) if self._is_closed else self._next_open(now_ns)
            if start is None:
                return
            self.in_flight += 1
            self._last_due_ns = start.scheduled_ns
            self.in_flight_peak = max(self.in_flight_peak, self.in_flight)
            yield start

    def _is_open(self, now_ns: int) -> bool:
        return not self.phases.is_over(now_ns)

    def _next_closed(self, now_ns: int) -> Start | None:
        if not self._free_ns:
            return None
        if self._later and self._later[0][0] <= now_ns:
            due_ns, _, request = heapq.heappop(self._later)
            return self._tagged(request, max(due_ns, heapq.heappop(self._free_ns)))
        if self._ahead:
            return self._tagged(self._ahead.popleft(), heapq.heappop(self._free_ns))
        return None

    def _next_open(self, now_ns: int) -> Start | None:
        self._release(now_ns)
        if not self._queue or (self._is_capped and not self._free_ns):
            return None
        start = self._queue.popleft()
        if not self._is_capped:
            return start
        slot_ns = heapq.heappop(self._free_ns)
        if start.scheduled_ns is None or slot_ns <= start.scheduled_ns:
            return start
        return Start(
            request=start.request,
            phase=start.phase,
            scheduled_ns=start.scheduled_ns,
            slot_free_ns=slot_ns,
        )

    def _release(self, now_ns: int) -> None:
        """Tag and queue what has fallen due, in the order of the times it was due."""
        while (due_ns := self._next_due_ns()) is not None and due_ns <= now_ns:
            if self._later and self._later[0][0] == due_ns:
                request = heapq.heappop(self._later)[2]
            else:
                request = self._ahead.popleft()
            self._queue.append(self._tagged(request, due_ns))

    def _next_due_ns(self) -> int | None:
        times_ns = [self._later[0][0]] if self._later else []
        if self._ahead and not self._is_closed:
            times_ns.append(self._zero_ns + (self._ahead[0].at_ns or 0))
        return min(times_ns, default=None)

    def _tagged(self, request: PlannedRequest, scheduled_ns: int | None) -> Start:
        phase = self.phases.tag(scheduled_ns)
        return Start(request=request, phase=phase, scheduled_ns=scheduled_ns)

    def wake_ns(self, now_ns: int) -> int | None:
        """Time at which `due` has something to do, if nothing ends before; None: never."""
        if not self._is_open(now_ns):
            return None
        has_slot = not self._is_capped or bool(self._free_ns)
        if has_slot and (self._queue or (self._is_closed and self._ahead)):
            return max(now_ns, self._zero_ns)
        return self._next_due_ns() if has_slot or not self._is_closed else None

    def ended(self, start: Start, *, done_ns: int, is_complete: bool) -> None:
        """Free the slot at `done_ns` and schedule or give up the session's next turn."""
        self.in_flight -= 1
        if self._is_capped:
            heapq.heappush(self._free_ns, done_ns)
        self.phases.ended(start.phase)
        if start.phase == "measured" and self._last_due_ns is not None and self._is_used_up():
            self.fell_early_ns = max(self.fell_early_ns, done_ns - self._last_due_ns)
        turns = self._turns.get(start.request.session)
        if turns and is_complete:
            request = turns.popleft()
            entry = (done_ns + request.think_ns, request.sequence, request)
            heapq.heappush(self._later, entry)
        elif turns:
            self._give_up(turns, f"turn {start.request.turn} of its session failed")

    def _give_up(self, requests: deque[PlannedRequest], reason: str) -> None:
        while requests:
            start = self._tagged(requests.popleft(), None)
            self.phases.ended(start.phase)
            self._unsent.append(Unsent(start=start, reason=reason))

    def is_finished(self, now_ns: int) -> bool:
        """Whether nothing is in flight and nothing more is to be started."""
        if self.in_flight:
            return False
        return not (self._is_open(now_ns) and (self._queue or self._later or self._ahead))

    def _is_used_up(self) -> bool:
        return not (self._ahead or self._later or self._queue)

    def has_run_out(self) -> bool:
        """Whether the plan's requests ended before as many were measured as it asks for."""
        return self._is_used_up() and not self.phases.is_full()

    def stop(self, reason: str) -> None:
        """Give up every planned request that has not started; drain was never promised."""
        self._last_due_ns = None
        for start in self._queue:
            self.phases.ended(start.phase)
            if start.phase != "drain":
                self._unsent.append(Unsent(start=start, reason=reason))
        self._queue.clear()
        rest = [entry[2] for entry in self._later] + list(self._ahead)
        rest += [request for turns in self._turns.values() for request in turns]
        for request in sorted(rest, key=lambda request: request.sequence):
            due_ns = None if request.at_ns is None else self._zero_ns + request.at_ns
            if self.phases.promises(due_ns):
                start = self._tagged(request, due_ns)
                self.phases.ended(start.phase)
                self._unsent.append(Unsent(start=start, reason=reason))
        self._later.clear()
        self._ahead.clear()
        self._turns.clear()
        self.phases.stop()

    def unsent(self) -> Iterator[Unsent]:
        """Planned requests that were given up, in the order in which they were."""
        return iter(self._unsent)
