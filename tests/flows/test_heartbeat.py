"""The heartbeat of a rented machine."""

from __future__ import annotations

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
