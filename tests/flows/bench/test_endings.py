"""Signals that end the command, on this very process."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from flows.bench.endings import endings_held, endings_interrupt

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture(autouse=True)
def _handlers():
    """As a shell starts a command in the foreground, and afterwards as before."""
    before = [signal.signal(number, signal.SIG_DFL) for number in ENDINGS[1:]]
    yield
    for number, handler in zip(ENDINGS[1:], before, strict=True):
        signal.signal(number, handler)


@pytest.mark.parametrize("number", ENDINGS)
def test_each_ending_is_a_keyboard_interrupt_and_handlers_come_back(number):
    before = [signal.getsignal(one) for one in ENDINGS]

    with pytest.raises(KeyboardInterrupt), endings_interrupt():
        os.kill(os.getpid(), number)

    assert [signal.getsignal(one) for one in ENDINGS] == before


@pytest.mark.parametrize("number", ENDINGS)
def test_an_ending_while_held_is_heard_when_the_block_is_done(number):
    done = []

    def held():
        with endings_held():
            os.kill(os.getpid(), number)
            done.append("all of it")

    with pytest.raises(KeyboardInterrupt):
        held()
    assert done == ["all of it"]


def test_what_the_caller_ignores_stays_ignored():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    with endings_interrupt(), endings_held():
        os.kill(os.getpid(), signal.SIGHUP)

    assert signal.getsignal(signal.SIGHUP) == signal.SIG_IGN


def test_another_thread_changes_no_handler():
    seen = []

    def look():
        with endings_interrupt(), endings_held():
            seen.append(signal.getsignal(signal.SIGTERM))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()

    assert seen == [signal.SIG_DFL]
