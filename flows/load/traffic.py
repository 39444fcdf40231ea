"""Requests in flight: from due to sent, answered, lost, timed out or cancelled."""

import itertools
from collections import deque
from time import monotonic_ns

from flows.load.clock import ArrivalClock
from flows.load.exchange import Exchange
from flows.load.opening import Opened, Opening
from flows.load.pacing import Pacing
from flows.load.plan import Plan
from flows.load.poller import Poller
from flows.load.pool import Pool, PoolListeners
from flows.load.raw import Connection, Outcome
from flows.load.recorder import Recorder
from flows.load.stream import Listeners, Place, Stream, TlsStream
from flows.load.supply import supplies
from flows.load.target import Target
from flows.load.warmup import WarmupJudge

NEVER_NS = 1 << 62
# Answers are read between batches of starts: unread ones would merge, and a merged read has
# one stamp.
_STARTS_AT_ONCE = 16
_ENOUGH_ROUND_TRIPS = 1_000


class Traffic:
    """Moves requests along as the schedule, the sockets and the clock tell.

    `next_ns` is when `start_due` has something to do, `connections` what has been opened,
    `rtt_us` the kernel's round-trip estimate of each of the first thousand.
    """

    def __init__(
        self,
        plan: Plan,
        targets: list[Target],
        pacing: Pacing,
        recorder: Recorder,
        poller: Poller,
    ) -> None:
        header = plan.header
        self.clock = ArrivalClock()
        self.next_ns = 0
        self.is_finished = False
        self.connections: list[Connection] = []
        self.rtt_us: list[int] = []
        self._pacing = pacing
        self._recorder = recorder
        self._poller = poller
        self._timeout_ns = round(header.timeout_s * 1e9)
        self._listeners = Listeners(answered=self._answered, lost=self._lost)
        to_pool = PoolListeners(make=self._made, serve=self._serve, refuse=self._refuse)
        self.pools = [
            Pool(to, poller, supply, to_pool)
            for to, supply in zip(targets, supplies(plan), strict=True)
        ]
        self._numbers = itertools.count()
        self._connected_to: set[int] = set()
        self._in_flight: dict[Exchange, Stream | None] = {}
        self.refused: deque[tuple[Exchange, str]] = deque()
        adaptive = header.warmup.mode == "adaptive" and header.warmup.requests > 0
        first_wave = header.concurrency or 0 if header.arrival == "closed" else 0
        self._judge = WarmupJudge(header.warmup, skipped=first_wave) if adaptive else None

    def start_due(self, now_ns: int) -> None:
        """Start what is due and has a slot."""
        for start in itertools.islice(self._pacing.due(now_ns), _STARTS_AT_ONCE):
            exchange = Exchange(start, now_ns)
            self._in_flight[exchange] = None
            self._dispatch(exchange, fresh=False, now_ns=now_ns)
        self.next_ns = self._pacing.wake_ns(now_ns) or NEVER_NS
        self.is_finished = self._pacing.is_finished(now_ns)

    def tick(self, now_ns: int) -> None:
        """Do what may wait some milliseconds: time limits, spares, the clock's check."""
        self.clock.check()
        while self._in_flight:
            exchange, stream = next(iter(self._in_flight.items()))
            if exchange.begun_ns + self._timeout_ns > now_ns:
                break
            self._time_out(exchange, stream, now_ns)
        for pool in self.pools:
            pool.expire(now_ns)
            pool.refill(now_ns)
        self.start_due(now_ns)

    def end_refused(self, now_ns: int) -> None:
        """End the requests for which no connection could be opened."""
        for _ in range(len(self.refused)):
            exchange, error = self.refused.popleft()
            self._finish(exchange, "connect", error, now_ns)

    def abort(self, now_ns: int, reason: str) -> None:
        """Cancel what is in flight and give up what is not."""
        self._pacing.stop(reason)
        for exchange, stream in list(self._in_flight.items()):
            if stream is not None:
                stream.close()
            self._finish(exchange, "cancelled", reason, now_ns)
        self.start_due(now_ns)

    def close(self) -> None:
        """Close all connections."""
        for pool in self.pools:
            pool.close()

    def _dispatch(self, exchange: Exchange, *, fresh: bool, now_ns: int) -> None:
        pool = self.pools[exchange.start.request.endpoint]
        stream = pool.take(exchange, fresh=fresh, now_ns=now_ns)
        if stream is not None:
            self._serve(exchange, stream)

    def _serve(self, exchange: Exchange, stream: Stream) -> None:
        self._in_flight[exchange] = stream
        target = self.pools[stream.endpoint].target
        stream.begin(exchange, target.message(exchange.start.request.body))

    def _refuse(self, exchange: Exchange, error: str) -> None:
        # Not ended here: this may be called while another request is being started.
        self.refused.append((exchange, error))

    def _made(self, opening: Opening, opened: Opened) -> Stream:
        number = next(self._numbers)
        index = opening.target.index
        is_first = index not in self._connected_to
        self._connected_to.add(index)
        self.connections.append(
            Connection(
                id=number,
                endpoint=index,
                dns_us=opening.target.dns_us if is_first else None,
                connect_us=opened.connect_us,
                tls_us=opened.tls_us,
                opened_ns=opened.opened_ns,
            )
        )
        if len(self.rtt_us) < _ENOUGH_ROUND_TRIPS:
            self.rtt_us.append(opened.rtt_us)
        place = Place(number, index)
        if opened.tls is None:
            return Stream(place, opened.socket, self._poller, self.clock, self._listeners)
        return TlsStream(
            place, opened.socket, self._poller, self.clock, self._listeners, tls=opened.tls
        )

    def _answered(self, stream: Stream, stamp_ns: int) -> None:
        exchange = stream.exchange
        if exchange is None:
            return
        stream.exchange = None
        may_be_used = exchange.may_be_followed() and stream.is_written()
        pool = self.pools[stream.endpoint]
        pool.give_back(stream, may_be_used=may_be_used, now_ns=stamp_ns)
        outcome: Outcome = "reset" if exchange.fault else "complete"
        self._finish(exchange, outcome, exchange.fault, stamp_ns)

    def _lost(self, stream: Stream, error: str | None, stamp_ns: int) -> None:
        exchange = stream.exchange
        stream.exchange = None
        now_ns = monotonic_ns()
        pool = self.pools[stream.endpoint]
        in_answer = exchange is not None and exchange.first_byte_ns is not None
        pool.lost(stream, was_idle=exchange is None, in_answer=in_answer, now_ns=now_ns)
        if exchange is None:
            return
        if error is None and exchange.ends_with_the_connection():
            self._finish(exchange, "complete", "", stamp_ns)
        elif exchange.may_be_sent_again():
            exchange.reconnected, exchange.sent_ns = True, None
            self._in_flight[exchange] = None
            self._dispatch(exchange, fresh=True, now_ns=now_ns)
        else:
            self._finish(exchange, "reset", _where(exchange, error), stamp_ns)

    def _time_out(self, exchange: Exchange, stream: Stream | None, now_ns: int) -> None:
        pool = self.pools[exchange.start.request.endpoint]
        limit = f"{self._timeout_ns / 1e9:g} s"
        if stream is None:
            pool.forget(exchange)
            self._finish(exchange, "connect", f"no connection within {limit}", now_ns)
        else:
            stream.exchange = None
            pool.give_back(stream, may_be_used=False, now_ns=now_ns)
            self._finish(exchange, "timed_out", f"no whole answer within {limit}", now_ns)

    def _finish(self, exchange: Exchange, outcome: Outcome, error: str, done_ns: int) -> None:
        if exchange.is_over:
            return
        del self._in_flight[exchange]
        is_complete = outcome == "complete"
        exchange.close()
        self._pacing.ended(exchange.start, done_ns=done_ns, is_complete=is_complete)
        if self._judge is not None and is_complete and exchange.start.phase == "warmup":
            self._consult(self._judge, exchange)
        self.start_due(monotonic_ns())
        self._recorder.add(exchange, outcome, error, done_ns)

    def _consult(self, judge: WarmupJudge, exchange: Exchange) -> None:
        scheduled_ns = exchange.start.scheduled_ns or exchange.begun_ns
        if judge.agrees_after(scheduled_ns, exchange.pieces, exchange.stamps_ns):
            self._pacing.phases.converge()


def _where(exchange: Exchange, error: str | None) -> str:
    place = (
        "before the answer's first byte"
        if exchange.first_byte_ns is None
        else f"after {sum(map(len, exchange.pieces))} bytes of the answer"
    )
    return f"{error or 'the server ended the connection'} {place}"
