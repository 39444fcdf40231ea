"""A server that somebody else started is read by the release whose names fit best."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from catalog.quantity import Basis
from flows.collect.known import known_metrics
from flows.collect.source import Fetched, Source, find_source
from tests.flows.collect.conftest import recorded

KNOWN = known_metrics()


def find(pages: Mapping[str, bytes], headers: Mapping[str, str] | None = None) -> Source | None:
    def fetch(path: str) -> Fetched:
        if path not in pages:
            return Fetched(status=404, body=b"no")
        return Fetched(status=200, body=pages[path], headers=headers or {})

    return find_source(fetch, KNOWN)


@pytest.mark.parametrize(
    ("page", "runtime", "release"),
    [
        ("vllm-0.6.3", "vllm", "0.6.3"),
        ("vllm-0.8.5", "vllm", "0.8.5"),
        ("vllm-0.33.0", "vllm", "0.33.0"),
        ("vllm-0.32.0-during", "vllm", "0.33.0"),
        ("sglang-0.4.6", "sglang", "0.5.1"),
        ("sglang-0.5.23", "sglang", "0.5.23"),
        ("llama_server-b11549-during", "llama_server", "b11549"),
        ("openvino-2026.4.1", "openvino", "2026.4.1"),
    ],
)
def test_every_runtime_is_known_by_its_page(page, runtime, release):
    source = find({"/metrics": recorded(page)})

    assert source is not None
    assert (source.runtime, source.release) == (runtime, release)
    assert not source.is_known
    assert source.to_json()["release_from"] == "names that fit the page best"


def test_a_text_page_is_preferred_to_a_list_that_reading_uses_up():
    both = {
        "/metrics": b'[{"iter": 1, "numActiveRequests": 0}]',
        "/prometheus/metrics": recorded("tensorrt_llm-1.3.0rc22"),
    }

    text, steps = find(both), find({"/metrics": both["/metrics"]})

    assert text is not None
    assert text.metrics.path == "/prometheus/metrics"
    assert steps is not None
    assert steps.metrics.dialect == "iterations"


def test_an_idle_engine_that_shows_an_empty_list_is_known():
    source = find({"/metrics": b"[]"})

    assert source is not None
    assert source.metrics.dialect == "iterations"


@pytest.mark.parametrize("body", [b"", b"<html>", b"go_goroutines 3\n", b'{"detail": "no"}'])
def test_a_page_without_known_names_is_no_source(body):
    assert find({"/metrics": body}) is None


def test_a_server_without_metrics_is_no_source():
    assert find({}) is None


def test_a_server_that_does_not_answer_is_no_source():
    assert find_source(lambda path: None, KNOWN) is None


def test_what_a_simulated_engine_says_is_simulation():
    real = find({"/metrics": recorded("vllm-0.33.0")})
    simulated = find({"/metrics": recorded("vllm-0.33.0")}, {"x-runoff-rehearsal": "1"})

    assert real is not None
    assert real.basis is Basis.MEASUREMENT
    assert simulated is not None
    assert simulated.basis is Basis.SIMULATION


def test_a_page_is_cut_down_to_what_is_read_before_it_is_kept():
    source = find({"/metrics": recorded("vllm-0.33.0")})
    assert source is not None
    body = b"x 1\n" * 10_000 + recorded("vllm-0.33.0")
    ticks = iter((5, 9))

    page = source.page(lambda path: Fetched(status=200, body=body), lambda: next(ticks))

    assert page is not None
    assert (page.asked_ns, page.answered_ns) == (5, 9)
    assert len(page.body) < 5_000
    assert source.reading(page) is not None


@pytest.mark.parametrize("found", [None, Fetched(status=503, body=b"vllm:x 1")])
def test_a_page_that_cannot_be_had_is_none(found):
    source = find({"/metrics": recorded("vllm-0.33.0")})
    assert source is not None

    assert source.page(lambda path: found, lambda: 0) is None
