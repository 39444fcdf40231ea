"""One signal winds a campaign down, a second one only tells."""

from __future__ import annotations

import os
import signal

import pytest

from flows.interruption import Interrupted, Interruption


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_first_signal_stops_the_loads_that_run(number):
    interruption, stopped = Interruption(), []

    with interruption.heard(), interruption.telling(lambda: stopped.append("load")):
        os.kill(os.getpid(), number)

    assert (interruption.why, stopped) == (number.name, ["load"])


def test_the_second_signal_says_what_is_owned_and_raises_nothing(capfd):
    interruption = Interruption()
    interruption.tells(lambda: "held: local (abc)")

    with interruption.heard():
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    said = capfd.readouterr().err
    assert "stopping the load" in said
    assert "already ending; held: local (abc)" in said


def test_a_load_that_begins_after_the_signal_is_stopped_at_once():
    interruption, stopped = Interruption(), []
    interruption.ask("budget")

    with interruption.telling(lambda: stopped.append("load")):
        assert stopped == ["load"]


def test_steps_that_take_long_are_given_up():
    interruption = Interruption()
    interruption.check()
    interruption.ask("SIGINT")

    with pytest.raises(Interrupted, match="SIGINT"):
        interruption.check()


def test_the_first_reason_stays():
    interruption = Interruption()

    interruption.ask("budget")
    interruption.ask("SIGINT")

    assert interruption.why == "budget"


def test_signals_that_were_ignored_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    interruption = Interruption()
    try:
        with interruption.heard():
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert not interruption.is_asked


def test_handlers_are_put_back():
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]

    with Interruption().heard():
        pass

    assert [signal.getsignal(n) for n in (signal.SIGINT, signal.SIGTERM)] == before
