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


def test_a_server_that_ends_speaks_of_no_load(capfd):
    interruption = Interruption("ending the server")

    with interruption.heard():
        os.kill(os.getpid(), signal.SIGINT)

    assert capfd.readouterr().err == "\nSIGINT: ending the server\n"


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


def test_a_signal_when_nothing_is_left_ends_nothing_early(capfd):
    interruption, stopped = Interruption(), []
    interruption.nothing_is_left()

    with interruption.heard(), interruption.telling(lambda: stopped.append("load")):
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGTERM)
    interruption.check()

    assert (interruption.why, interruption.late, stopped) == (None, "SIGINT", [])
    assert "all is measured" in capfd.readouterr().err


def test_an_end_that_was_asked_for_before_stays_early():
    interruption = Interruption()
    interruption.ask("SIGINT")
    interruption.nothing_is_left()
    interruption.ask("SIGTERM")

    assert (interruption.why, interruption.late) == ("SIGINT", "SIGTERM")


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
