"""Measuring processes that are used again."""

from __future__ import annotations

import pytest

from flows.errors import InfrastructureError
from flows.interruption import Interruption
from flows.launch.processes import process_of
from flows.measuring.jobs import Ask
from flows.measuring.measurers import Measurers
from flows.rehearsal import Settings, start
from tests.flows.measuring.test_process import spec

pytestmark = pytest.mark.e2e


@pytest.fixture
def engine():
    with start(Settings()) as running:
        yield running


@pytest.fixture
def measurers():
    made = Measurers(Interruption())
    yield made
    made.end()


def test_a_later_launch_is_measured_by_the_same_process(engine, measurers, tmp_path):
    first = measurers.take(tmp_path / "log")
    first.ask(Ask(spec=spec(engine)))
    measurers.give_back(first)

    again = measurers.take(tmp_path / "log")

    assert again is first
    assert again.ask(Ask(spec=spec(engine)))
    measurers.give_back(again)
    assert not (tmp_path / "log").exists()


def test_launches_at_the_same_time_have_one_each(measurers, tmp_path):
    first, second = (measurers.take(tmp_path / name) for name in "ab")

    assert first.pid != second.pid
    for each in (first, second):
        measurers.give_back(each)


def test_another_placement_gets_a_process_on_its_own_cpus(measurers, tmp_path):
    measurers.give_back(everywhere := measurers.take(tmp_path / "log"))

    pinned = measurers.take(tmp_path / "log", [0])

    assert pinned.pid != everywhere.pid
    measurers.give_back(pinned)


def test_one_that_was_told_to_stop_is_ended_and_not_used_again(engine, measurers, tmp_path):
    told = measurers.take(tmp_path / "log")
    told.ask(Ask(spec=spec(engine)))
    told.stop_load()

    measurers.give_back(told)

    assert process_of(told.pid) is None
    other = measurers.take(tmp_path / "log")
    assert other.pid != told.pid
    assert other.ask(Ask(spec=spec(engine)))
    measurers.give_back(other)


def test_one_that_died_is_replaced(measurers, tmp_path):
    died = measurers.take(tmp_path / "first")
    with pytest.raises(InfrastructureError):
        died.ask("no job")
    measurers.give_back(died)

    other = measurers.take(tmp_path / "second")

    assert other.pid != died.pid
    measurers.give_back(other)


def test_complaints_lie_in_the_log_of_the_launch_that_they_came_in(measurers, tmp_path):
    measurers.give_back(measurers.take(tmp_path / "first"))
    again = measurers.take(tmp_path / "second")
    with pytest.raises(InfrastructureError, match="second"):
        again.ask("no job")
    measurers.give_back(again)

    assert not (tmp_path / "first").exists()
    assert "AttributeError" in (tmp_path / "second").read_text()


def test_at_the_end_no_process_is_left(measurers, tmp_path):
    taken = [measurers.take(tmp_path / name) for name in "ab"]
    for each in taken:
        measurers.give_back(each)

    measurers.end()

    assert [process_of(each.pid) for each in taken] == [None, None]
