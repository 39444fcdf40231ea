"""The heartbeat of a rented machine."""

from __future__ import annotations

import threading

import pytest

from flows.control.host import Ran
from flows.errors import InfrastructureError
from flows.heartbeat import LIFE_S, Heartbeat

WORDS = "sudo /usr/local/sbin/runoff-heartbeat SECONDS 1796025054"


def test_the_first_beat_is_sent_at_once_and_says_how_long_the_machine_may_live():
    said: list[list[str]] = []

    def run(words: list[str]) -> Ran:
        said.append(words)
        return Ran(0, "")

    heart = Heartbeat(WORDS, run)
    assert heart.begin() is None
    heart.end()

    assert said == [["sudo", "/usr/local/sbin/runoff-heartbeat", str(LIFE_S), "1796025054"]]


def test_a_machine_without_the_switch_is_told_with_its_own_words():
    heart = Heartbeat(WORDS, lambda _words: Ran(127, "sudo: No such file or directory"))

    assert heart.begin() == "sudo: No such file or directory"
    heart.end()


def test_a_host_that_cannot_be_asked_is_no_failure_of_the_campaign():
    def lost(_words: list[str]) -> Ran:
        raise InfrastructureError("host", "the connection is lost", "")

    assert Heartbeat(WORDS, lost).beat(60) == "the connection is lost"


def test_a_beat_that_fails_in_an_unforeseen_way_is_followed_by_the_next():
    beats, third = [0], threading.Event()

    def garbled(_words: list[str]) -> Ran:
        beats[0] += 1
        if beats[0] == 2:
            raise ValueError("no answer at all")
        if beats[0] == 3:
            third.set()
        return Ran(0, "")

    heart = Heartbeat(WORDS, garbled, every_s=0.01)
    heart.begin()

    assert third.wait(20)
    heart.end()


@pytest.mark.parametrize(("code", "is_there"), [(0, True), (1, False)])
def test_a_switch_that_is_there_and_hears_nothing_is_told_from_none(code, is_there):
    said: list[list[str]] = []

    def run(words: list[str]) -> Ran:
        said.append(words)
        return Ran(code if words[0] == "test" else 1, "sudo: a password is required")

    heart = Heartbeat(WORDS, run)

    assert heart.begin() == "sudo: a password is required"
    assert heart.is_waited_for() is is_there
    assert said[-1] == ["test", "-e", "/usr/local/sbin/runoff-heartbeat"]
