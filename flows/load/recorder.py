"""What became of each request, kept small until the run is over."""

from array import array
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from flows.load.exchange import Exchange
from flows.load.pacing import Start, Unsent
from flows.load.raw import Outcome, RawRequest
from flows.load.spool import Place, Spool

_MANY = 256


@dataclass(slots=True)
class _Ended:
    start: Start
    connection: int | None
    reused: bool
    reconnected: bool
    sent_ns: int | None
    first_byte_ns: int | None
    done_ns: int
    status: int | None
    outcome: Outcome
    error: str
    content_type: str
    place: Place | None
    pieces: list[bytes]
    stamps_ns: "array[int]"


class Recorder:
    """Collects ended requests and gives them back in plan order.

    Their answers wait in memory until `put_one_aside` is called, in a quiet moment.
    """

    def __init__(self, spool: Spool) -> None:
        self._spool = spool
        self._ended: list[_Ended] = []
        self._in_memory: deque[_Ended] = deque()

    def add(self, exchange: Exchange, outcome: Outcome, error: str, done_ns: int) -> None:
        """Keep what is known of `exchange`."""
        ended = _Ended(
            start=exchange.start,
            connection=exchange.connection,
            reused=exchange.reused,
            reconnected=exchange.reconnected,
            sent_ns=exchange.sent_ns,
            first_byte_ns=exchange.first_byte_ns,
            done_ns=done_ns,
            status=exchange.status,
            outcome=outcome,
            error=error,
            content_type=exchange.content_type,
            place=None,
            pieces=exchange.pieces,
            stamps_ns=exchange.stamps_ns,
        )
        self._ended.append(ended)
        self._in_memory.append(ended)

    def put_one_aside(self, *, is_busy: bool) -> None:
        """Move one answer from memory to the spool, while busy only if there are many."""
        if len(self._in_memory) > (_MANY if is_busy else 0):
            ended = self._in_memory.popleft()
            ended.place = self._spool.put(ended.pieces, ended.stamps_ns)
            ended.pieces, ended.stamps_ns = [], array("q")

    def send_lags_ns(self) -> list[int]:
        """How long after it was due, and had a slot, each request was on its way.

        A request that had to be sent again is left out: its server refused the first time.
        """
        return [
            ended.sent_ns - max(ended.start.scheduled_ns, ended.start.slot_free_ns or 0)
            for ended in self._ended
            if ended.sent_ns is not None
            and ended.start.scheduled_ns is not None
            and not ended.reconnected
        ]

    def requests(self, unsent: Iterator[Unsent]) -> Iterator[RawRequest]:
        """All requests in plan order, each answer read from the spool when its turn comes."""
        ended: list[_Ended | Unsent] = [*self._ended, *unsent]
        for one in sorted(ended, key=lambda one: one.start.request.sequence):
            yield _unsent_row(one) if isinstance(one, Unsent) else self._row(one)

    def _row(self, ended: _Ended) -> RawRequest:
        pieces, stamps_ns = ended.pieces, ended.stamps_ns
        if ended.place is not None:
            pieces, stamps_ns = self._spool.get(ended.place)
        request = ended.start.request
        return RawRequest(
            sequence=request.sequence,
            phase=ended.start.phase,
            session=request.session,
            turn=request.turn,
            endpoint=request.endpoint,
            prompt_id=request.prompt_id,
            prompt_tokens=request.prompt_tokens,
            output_tokens=request.output_tokens,
            connection=ended.connection,
            reused=ended.reused,
            reconnected=ended.reconnected,
            scheduled_ns=ended.start.scheduled_ns,
            slot_free_ns=ended.start.slot_free_ns,
            sent_ns=ended.sent_ns,
            first_byte_ns=ended.first_byte_ns,
            done_ns=ended.done_ns,
            status=ended.status,
            outcome=ended.outcome,
            error=ended.error,
            content_type=ended.content_type,
            fragments=pieces,
            stamps_ns=stamps_ns,
        )


def _unsent_row(unsent: Unsent) -> RawRequest:
    request = unsent.start.request
    return RawRequest(
        sequence=request.sequence,
        phase=unsent.start.phase,
        session=request.session,
        turn=request.turn,
        endpoint=request.endpoint,
        prompt_id=request.prompt_id,
        prompt_tokens=request.prompt_tokens,
        output_tokens=request.output_tokens,
        connection=None,
        reused=False,
        reconnected=False,
        scheduled_ns=unsent.start.scheduled_ns,
        slot_free_ns=None,
        sent_ns=None,
        first_byte_ns=None,
        done_ns=None,
        status=None,
        outcome="not_sent",
        error=unsent.reason,
        content_type="",
        fragments=[],
        stamps_ns=array("q"),
    )
