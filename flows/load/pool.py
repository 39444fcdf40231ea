"""Connections to one endpoint: opened ahead of need and replaced off the clock."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from flows.load.exchange import Exchange
from flows.load.opening import Opened, Opening
from flows.load.poller import Poller
from flows.load.stream import Stream
from flows.load.target import Target

CONNECT_TIMEOUT_S = 10.0
# More at once would overflow the accept queue of common servers, which costs a second each.
_OPENING_AT_ONCE = 64
_RETRY_NS = 100_000_000
# A server that ends an idle connection this soon after an answer never meant to keep it.
_SOON_NS = 1_000_000_000
_FEW = 2


@dataclass(frozen=True, slots=True)
class Supply:
    """How many connections are opened before the run, and how many are kept to spare."""

    ahead: int
    spares: int


@dataclass(frozen=True, slots=True)
class PoolListeners:
    """Who makes a stream of a fresh socket, who uses it, who hears that there is none."""

    make: Callable[[Opening, Opened], Stream]
    serve: Callable[[Exchange, Stream], None]
    refuse: Callable[[Exchange, str], None]


class Pool:
    """Idle connections to a target, the longest idle one first to be used.

    A connection that has carried an answer goes to the end of the queue, so that the end of
    it, where a server closes after each answer, is seen before it is used again. A server
    that was seen to do so mostly (`closes_after_answer`) gets a fresh connection for each
    request.
    """

    def __init__(
        self, target: Target, poller: Poller, supply: Supply, listeners: PoolListeners
    ) -> None:
        self.target = target
        self.closes_after_answer = False
        self._poller = poller
        self._supply = supply
        self._listeners = listeners
        self._idle: deque[Stream] = deque()
        self._openings: dict[Opening, None] = {}
        self._waiting: dict[Exchange, None] = {}
        self._has_failed = False
        self._retry_ns = 0
        self._kept = 0
        self._kept_in_vain = 0

    def open_ahead(self) -> bool:
        """Open what is wanted before the run; True once there is nothing to wait for."""
        while (
            len(self._idle) + len(self._openings) < self._supply.ahead
            and len(self._openings) < _OPENING_AT_ONCE
            and not self._has_failed
        ):
            self._open()
        return not self._openings

    def take(self, exchange: Exchange, *, fresh: bool, now_ns: int) -> Stream | None:
        """Connection for `exchange`, at once or (None) as soon as one is open."""
        stream = self._pick(fresh=fresh)
        if stream is None:
            self._waiting[exchange] = None
        self.refill(now_ns)
        return stream

    def _pick(self, *, fresh: bool) -> Stream | None:
        for stream in self._idle:
            if not (fresh and stream.answers):
                self._idle.remove(stream)
                return stream
        return None

    def forget(self, exchange: Exchange) -> None:
        """Do not wait for a connection for `exchange` any more."""
        self._waiting.pop(exchange, None)

    def give_back(self, stream: Stream, *, may_be_used: bool, now_ns: int) -> None:
        """Take back a connection after its answer."""
        if may_be_used and not self.closes_after_answer:
            self._kept += 1
            self._idle.append(stream)
        else:
            stream.close()
        self.refill(now_ns)

    def lost(self, stream: Stream, *, was_idle: bool, in_answer: bool, now_ns: int) -> None:
        """Replace a connection that the server has ended, perhaps within an answer."""
        if was_idle:
            self._idle.remove(stream)
        stream.close()
        if stream.answers and not in_answer and now_ns - stream.answered_ns < _SOON_NS:
            self._kept_in_vain += 1
            self._draw_conclusions()
        self.refill(now_ns)

    def _draw_conclusions(self) -> None:
        if self._kept_in_vain < _FEW or 2 * self._kept_in_vain <= self._kept:
            return
        self.closes_after_answer = True
        for stream in [stream for stream in self._idle if stream.answers]:
            self._idle.remove(stream)
            stream.close()

    def refill(self, now_ns: int) -> None:
        """Open what waiting requests need and, if the server lets us, the spares."""
        waiting, coming = len(self._waiting), len(self._openings)
        missing = waiting - coming
        if now_ns >= self._retry_ns:
            missing = max(missing, self._supply.spares + waiting - len(self._idle) - coming)
        for _ in range(missing):
            self._open()

    def expire(self, now_ns: int) -> None:
        """Give up connections that have been opening for too long."""
        limit_ns = now_ns - int(CONNECT_TIMEOUT_S * 1e9)
        for opening in [one for one in self._openings if one.started_ns < limit_ns]:
            opening.give_up(f"not connected within {CONNECT_TIMEOUT_S:g} s")

    def close(self) -> None:
        """Close what is idle or opening."""
        self._waiting.clear()
        self._supply = Supply(0, 0)
        for opening in list(self._openings):
            opening.give_up("the run is over")
        for stream in self._idle:
            stream.close()
        self._idle.clear()

    def _open(self) -> None:
        opening = Opening(self.target, self._poller, self._opened, self._not_opened)
        self._openings[opening] = None
        opening.start()

    def _opened(self, opening: Opening, opened: Opened) -> None:
        del self._openings[opening]
        stream = self._listeners.make(opening, opened)
        exchange = next(iter(self._waiting), None)
        if exchange is None:
            self._idle.append(stream)
        else:
            del self._waiting[exchange]
            self._listeners.serve(exchange, stream)

    def _not_opened(self, opening: Opening, error: str) -> None:
        del self._openings[opening]
        self._has_failed = True
        self._retry_ns = opening.started_ns + _RETRY_NS
        exchange = next(iter(self._waiting), None)
        if exchange is not None:
            del self._waiting[exchange]
            self._listeners.refuse(exchange, error)
