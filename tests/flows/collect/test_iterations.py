"""A list of engine steps that reading uses up."""

from __future__ import annotations

import json

import pytest

from flows.collect.figure import Unavailable
from flows.collect.parse import read
from flows.collect.span import LOST, RESET, UNREAD, Span
from tests.flows.collect.conftest import names_of, page_of, reading_of

NAMES = names_of("tensorrt_llm", "1.3.0rc22", "iterations")


def step(number: int, **changes: float) -> dict[str, object]:
    """One step as TensorRT-LLM's documentation shows it, with what its source adds."""
    return {
        "iter": number,
        "iterLatencyMS": 7.0,
        "numActiveRequests": changes.get("active", 8),
        "numQueuedRequests": changes.get("queued", 3),
        "numNewActiveRequests": changes.get("started", 1),
        "numCompletedRequests": changes.get("ended", 0),
        "newActiveRequestsQueueLatencyMS": changes.get("waited_ms", 40.0),
        "kvCacheStats": {"maxNumBlocks": 800, "usedNumBlocks": 700, "cacheHitRate": 0.25},
    }


def page(*steps: dict[str, object]) -> str:
    return json.dumps(list(steps))


def test_gauges_are_those_of_the_last_step_and_amounts_those_of_all():
    reading = reading_of(NAMES, page(step(4, active=2), step(5), step(6)))

    assert reading.gauges["running"] == 8
    assert reading.waiting == 3
    assert reading.kv_use == 0.875
    assert reading.amounts == pytest.approx(
        {"queue_seconds": 0.12, "requests_started": 3, "requests_finished": 0}
    )
    assert reading.steps == (4, 6)


def test_an_empty_list_knows_nothing_and_is_no_zero():
    reading = reading_of(NAMES, page())

    assert reading.gauges == {}
    assert reading.present is None
    assert reading.kv_use is None
    assert reading.steps is None


@pytest.mark.parametrize("body", ["{}", "[1]", "vllm:x 1", "", "[{"])
def test_what_is_no_list_of_steps_is_none(body):
    assert read(page_of(body), NAMES) is None


def test_a_field_that_a_release_lacks_is_absent():
    reading = reading_of(NAMES, page({"iter": 1, "numActiveRequests": 2}))

    assert reading.gauges == {"running": 2}
    assert reading.amounts == {}


def test_amounts_of_all_readings_after_the_first_are_added_up():
    span = Span(
        readings=tuple(
            reading_of(NAMES, body)
            for body in (page(step(1)), page(step(2), step(3)), page(), page(step(4)))
        )
    )

    assert span.gain("requests_started") == 3
    assert span.gain("queue_seconds") == pytest.approx(0.12)


def test_steps_that_somebody_else_read_are_missed():
    span = Span(readings=(reading_of(NAMES, page(step(1))), reading_of(NAMES, page(step(3)))))

    assert span.gain("requests_started") == LOST


def test_an_engine_that_counts_its_steps_anew_was_restarted():
    before, after = reading_of(NAMES, page(step(90))), reading_of(NAMES, page(step(1)))

    assert isinstance(Span(readings=(before, after)).gain("requests_started"), Unavailable)


def test_a_field_that_some_steps_lack_is_no_sum_and_no_zero():
    bare = page({"iter": 2, "numActiveRequests": 2})
    empty = reading_of(NAMES, page())
    mixed = [reading_of(NAMES, body) for body in (page(step(1)), bare, page(step(3)))]

    assert empty.amounts == {}
    assert (
        Span(readings=(empty, reading_of(NAMES, bare), empty)).gain("requests_started") is None
    )
    assert Span(readings=tuple(mixed)).gain("requests_started") == LOST


def test_one_reading_has_no_difference():
    assert Span(readings=(reading_of(NAMES, page(step(1))),)).gain("requests_started") == UNREAD
    assert RESET != UNREAD
