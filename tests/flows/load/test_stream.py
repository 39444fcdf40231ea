"""What a stream notes of the moment at which its request went out."""

import socket
from time import monotonic_ns, sleep

from flows.load.clock import ArrivalClock
from flows.load.poller import READABLE, Poller
from flows.load.stream import Listeners, Place, Stream
from tests.flows.load.test_exchange import exchange

KEPT_FROM_ITS_CLOCK_S = 0.05


class Slow:
    """A socket after whose write this process is kept from running for a while."""

    def __init__(self, inner: socket.socket) -> None:
        self.inner = inner
        self.written_ns = 0

    def send(self, data: bytes) -> int:
        sent = self.inner.send(data)
        self.written_ns = monotonic_ns()
        sleep(KEPT_FROM_ITS_CLOCK_S)
        return sent

    def __getattr__(self, name: str) -> object:
        return getattr(self.inner, name)


def test_a_client_that_is_kept_from_its_clock_after_the_write_does_not_flatter_the_server():
    ours, theirs = socket.socketpair()
    slow, of = Slow(ours), exchange()
    with ours, theirs, Poller() as poller:
        poller.watch(ours.fileno(), READABLE, lambda _mask: None)
        stream = Stream(
            Place(0, 0), slow, poller, ArrivalClock(), Listeners(lambda *_: None, print)
        )
        stream.begin(of, b"GET / HTTP/1.1\r\n\r\n")

    assert of.sent_ns is not None
    assert of.sent_ns <= slow.written_ns
