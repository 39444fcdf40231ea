import socket
from time import monotonic_ns

import pytest

from flows.load.poller import READABLE, Poller


@pytest.fixture
def poller():
    with Poller() as poller:
        yield poller


@pytest.fixture
def pairs():
    made = [socket.socketpair() for _ in range(3)]
    yield made
    for pair in made:
        for one in pair:
            one.close()


def test_what_is_ready_is_called_back_before_its_time(poller, pairs):
    called = []
    for number, (near, far) in enumerate(pairs):
        poller.watch(near.fileno(), READABLE, lambda mask, n=number: called.append((n, mask)))
        far.send(b"x")

    assert poller.turn(monotonic_ns() + 10**12) == 3
    assert sorted(called) == [(0, READABLE), (1, READABLE), (2, READABLE)]


@pytest.mark.parametrize("wait_ns", [0, 300_000, 1_000_000, 5_300_000])
def test_a_turn_is_never_over_a_millisecond_early_nor_in_one_piece(poller, wait_ns):
    until_ns = monotonic_ns() + wait_ns
    turns = 0
    while monotonic_ns() < until_ns:
        assert poller.turn(until_ns) == 0
        turns += 1

    assert turns <= 40


def test_a_moment_in_the_past_is_not_waited_for(poller):
    assert poller.turn(0) == 0


def test_a_descriptor_forgotten_by_an_earlier_callback_is_not_called(poller, pairs):
    called = []

    def callback(number):
        called.append(number)
        for other, (near, _) in enumerate(pairs):
            if other != number:
                poller.forget(near.fileno())
                near.close()

    for number, (near, far) in enumerate(pairs):
        poller.watch(near.fileno(), READABLE, lambda _, n=number: callback(n))
        far.send(b"x")
    poller.turn(monotonic_ns() + 10**9)

    assert len(called) == 1


def test_a_changed_callback_takes_over(poller, pairs):
    called = []
    near, far = pairs[0]
    poller.watch(near.fileno(), READABLE, lambda _: called.append("old"))
    poller.change(near.fileno(), READABLE, lambda _: called.append("new"))
    far.send(b"x")

    poller.turn(monotonic_ns() + 10**9)

    assert called == ["new"]
