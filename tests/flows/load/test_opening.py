import socket
from time import monotonic_ns

import pytest

from flows.load.opening import Opening
from flows.load.poller import Poller
from flows.load.target import Target


@pytest.fixture
def attempt(serve, wire):
    """Opens a connection through the given addresses; returns how that ended."""

    def through(*addresses):
        target = Target(
            index=0,
            name="x",
            addresses=tuple((socket.AF_INET, address) for address in addresses),
            dns_us=None,
            tls=None,
            host="localhost",
            head=b"",
        )
        ends = []
        with Poller() as poller:
            opening = Opening(
                target,
                poller,
                lambda _, opened: ends.append(opened),
                lambda _, error: ends.append(error),
            )
            opening.start()
            while not ends:
                poller.turn(monotonic_ns() + 10**8)
        return ends

    return through


@pytest.fixture
def refusing():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        return taken.getsockname()


def test_the_next_address_is_tried_where_one_refuses(attempt, serve, wire, refusing):
    server = serve(wire.answer_all)

    (opened,) = attempt(refusing, ("127.0.0.1", server.port))

    assert opened.socket.getpeername() == ("127.0.0.1", server.port)
    assert opened.connect_us > 0
    assert opened.rtt_us > 0
    opened.socket.close()


def test_the_last_addresss_error_is_told_once(attempt, refusing):
    assert attempt(refusing, refusing) == ["Connection refused"]
