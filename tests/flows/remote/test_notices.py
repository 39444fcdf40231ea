"""A machine hears of its own end from its metadata, and tells it to whoever has rented it."""

from __future__ import annotations

import json
import threading

import pytest

from flows.notices import Notices
from flows.remote.lost import TakenBackError
from flows.remote.notices import ENDPOINT, Metadata, look, main
from tests.flows.remote.hosts import until
from tests.flows.remote.metadata import REBALANCE, SPOT, serving_metadata

END = {"action": "terminate", "time": "2026-11-30T15:00:00Z"}


@pytest.fixture
def service():
    with serving_metadata() as server:
        yield server


def test_where_nothing_is_told_there_is_nothing(service):
    assert look(Metadata(service.url)) == {
        "interruption": None,
        "rebalance": None,
        "unheard": None,
    }
    assert service.refused == 0


def test_notice_and_advice_are_heard_as_they_are_told(service):
    service.told = {SPOT: END, REBALANCE: {"noticeTime": "2026-11-30T14:50:00Z"}}

    seen = look(Metadata(service.url))

    assert seen["interruption"] == END
    assert seen["rebalance"] == {"noticeTime": "2026-11-30T14:50:00Z"}


def test_a_token_that_is_refused_is_renewed(service):
    metadata = Metadata(service.url)
    look(metadata)
    service.tokens.clear()
    service.told = {SPOT: END}

    assert look(metadata)["interruption"] == END
    assert service.refused == 1


@pytest.mark.parametrize("said", ["terminate at once", "[1]", ""])
def test_a_notice_in_other_words_is_one_all_the_same(service, said):
    service.told = {SPOT: said}

    assert look(Metadata(service.url))["interruption"] == {"said": said}


@pytest.mark.parametrize("endpoint", ["http://127.0.0.1:9", "nowhere"])
def test_metadata_that_do_not_answer_are_no_notice_and_are_told(endpoint):
    seen = look(Metadata(endpoint))

    assert (seen["interruption"], bool(seen["unheard"])) == (None, True)


def test_the_program_ends_with_the_notice(service, tmp_path, monkeypatch):
    monkeypatch.setenv(ENDPOINT, service.url)
    monkeypatch.setattr("flows.remote.notices.signal.signal", lambda *_: None)
    file = tmp_path / "seen"
    timer = threading.Timer(0.1, service.told.update, ({SPOT: END},))
    timer.start()

    assert main([str(file), "--every", "0.05"]) == 0

    timer.join()
    assert json.loads(file.read_text())["interruption"] == END


@pytest.mark.e2e
@pytest.mark.xdist_group("ssh")
def test_a_host_that_is_taken_back_is_required_no_longer(make_host, remote, service):
    host = make_host(environment={ENDPOINT: service.url})
    heard = []
    notices = Notices(remote(host), lambda kind, told: heard.append((kind, told)), every_s=0.1)

    assert notices.begin() is None
    notices.require_kept()
    service.told = {SPOT: END, REBALANCE: {"noticeTime": "now"}}
    until(lambda: len(heard) == 2)

    with pytest.raises(TakenBackError, match="terminate at 2026-11-30T15:00:00Z"):
        notices.require_kept()
    assert heard == [("rebalance", {"noticeTime": "now"}), ("interruption", END)]
    notices.end()


@pytest.mark.e2e
@pytest.mark.xdist_group("ssh")
def test_a_host_without_metadata_is_told_with_why(make_host, remote):
    host = make_host(environment={ENDPOINT: "http://127.0.0.1:9"})
    notices = Notices(remote(host), lambda *_: None)

    assert "refused" in notices.begin()
    notices.require_kept()
    notices.end()
