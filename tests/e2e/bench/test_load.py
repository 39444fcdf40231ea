"""Arrivals, caps, shards and warm-up, through the whole command on real sockets."""

from __future__ import annotations

import numpy as np
import pytest

from reports.columns import NULL

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("load")]


def test_a_plain_closed_cell_at_sixteen_streams_with_fixed_lengths_is_valid(engine, bench):
    result = bench(engine().url, concurrency=16, num_requests=250, warmup_requests=50)

    assert result.summary["verdict"] == "valid", result.said
    assert result.code == 0
    requests = result.summary["requests"]
    assert (requests["warmup"], requests["measured"]) == (50, 200)
    assert requests["planned"] == requests["sent"] == requests["ok"]
    assert result.summary["in_flight"]["peak"] == 16
    assert result.summary["tokens"]["source"] == "usage"


def test_a_poisson_cell_near_capacity_is_valid(engine, bench):
    """About 85% of what four slots serve: 24 tokens of 4.2 ms each are 0.1 s per request."""
    server = engine(engine={"max_num_seqs": 4})

    result = bench(
        server.url, request_rate=33.0, output_tokens=24, num_requests=280, warmup_requests=40
    )

    assert result.summary["verdict"] == "valid", result.said
    assert result.code == 0
    assert result.summary["offered_rate"] == 33.0
    assert result.summary["achieved_rate"] == pytest.approx(33.0, rel=0.2)
    assert result.summary["in_flight"]["mean"] > 3
    assert 0.8 < result.summary["arrivals"]["cv"] < 1.2


def test_the_lessons_command_as_it_is_written(engine, bench):
    result = bench(
        engine().url,
        model="meta-llama/Meta-Llama-3-8B-Instruct",
        prompt_tokens=1024,
        output_tokens=128,
        concurrency=16,
        arrival_process="poisson",
        request_rate=8.0,
        num_requests=250,
        warmup_requests=50,
        ttft_slo=1000,
        itl_slo=25,
    )

    summary = result.summary
    assert summary["requests"]["warmup"] == 50
    assert summary["requests"]["measured"] == 200
    assert summary["lengths"]["prompt"]["seen"] == {"min": 1024, "mean": 1024, "max": 1024}
    assert summary["lengths"]["output"]["seen"] == {"min": 128, "mean": 128, "max": 128}
    assert summary["clauses"]["ttft"]["verdict"] == "holds"
    assert summary["verdict"] in ("valid", "client-bound"), result.said  # by the machine's load
    assert result.code == (0 if summary["verdict"] == "valid" else 7)


def test_under_a_cap_latency_starts_when_the_request_was_due_and_the_cap_is_told(engine, bench):
    """Two slots of 70 ms serve 28 a second of the 40 asked for; the server itself is idle."""
    result = bench(engine().url, concurrency=2, request_rate=40.0, num_requests=100)

    summary = result.summary
    assert summary["verdict"] == "cap-bound", result.said
    assert result.code == 7
    assert "cap bound" in summary["problems"]
    assert summary["ttft_ms"]["p50"] > 3 * summary["service_ttft_ms"]["p50"]
    assert summary["client_queue_ms"]["p50"] > 50
    assert summary["in_flight"]["peak"] == 2
    columns = result.columns
    waited = columns.slot_free_ns[columns.slot_free_ns != NULL]
    assert len(waited) > 50


def test_an_overloaded_server_without_a_cap_is_not_steady(engine, bench):
    server = engine(engine={"max_num_seqs": 2})

    result = bench(server.url, request_rate=60.0, num_requests=160, ttft_slo=1000, itl_slo=100)

    assert "trend" in result.summary["problems"], result.said
    assert result.summary["verdict"] in ("not-steady", "client-bound")  # by the machine's load
    assert result.code == 7


def test_two_hundred_requests_a_second_are_sent_as_asked(engine, bench):
    result = bench(
        engine().url,
        request_rate=200.0,
        output_tokens=4,
        num_requests=600,
        warmup_requests=100,
    )

    columns = result.columns
    lag_ms = (columns.sent_ns - columns.scheduled_ns)[columns.sent_ns != NULL] / 1e6
    assert result.summary["requests"]["not_sent"] == 0
    assert result.summary["achieved_rate"] == pytest.approx(
        (500 - 1) / np.ptp(columns.scheduled_ns[columns.phase == "measured"]) * 1e9, rel=0.02
    )
    assert np.median(lag_ms) < 5


def test_constant_arrivals_are_constant(engine, bench):
    result = bench(
        engine().url,
        arrival_process="constant",
        request_rate=20.0,
        num_requests=80,
        warmup_requests=10,
    )

    due = result.columns.scheduled_ns
    assert np.ptp(np.diff(np.sort(due))) <= 1
    assert result.summary["arrivals"]["cv"] < 0.1  # of what was sent on a busy machine


def test_gamma_arrivals_have_the_variation_of_their_shape(engine, bench):
    result = bench(
        engine().url,
        arrival_process="gamma",
        burstiness=16.0,
        request_rate=60.0,
        num_requests=200,
        output_tokens=4,
    )

    gaps = np.diff(np.sort(result.columns.scheduled_ns))
    assert gaps.std() / gaps.mean() == pytest.approx(0.25, abs=0.03)
    assert result.summary["arrivals"]["cv"] < 0.9  # of what was sent on a busy machine


def test_poisson_shards_add_up_to_one_poisson_cell(engine, bench):
    result = bench(engine().url, request_rate=60.0, num_requests=300, output_tokens=4, shards=2)

    summary, columns = result.summary, result.columns
    assert 0.85 < summary["arrivals"]["cv"] < 1.15
    assert summary["requests"]["measured"] + summary["requests"]["warmup"] == 300
    assert set(columns.shard.tolist()) == {0, 1}
    assert len(set(columns.sequence.tolist())) == len(columns)
    assert summary["offered_rate"] == 60.0
    assert len(summary["connections"]) == 2


def test_shards_of_a_closed_loop_keep_its_streams_in_flight_together(engine, bench):
    result = bench(engine().url, concurrency=6, shards=2, num_requests=150)

    assert result.summary["in_flight"]["peak"] == 6
    assert result.summary["requests"]["ok"] == result.summary["requests"]["planned"]


@pytest.mark.parametrize("load", [{"concurrency": 6}, {"request_rate": 100.0}])
def test_shards_measure_exactly_as_many_requests_as_were_asked_for(engine, bench, load):
    result = bench(
        engine().url, **load, shards=2, num_requests=64, warmup_requests=0, output_tokens=4
    )

    assert result.summary["requests"]["measured"] == 64
    assert "sums do not add up" not in result.summary["problems"]


def test_an_overload_without_limits_ends_soon_after_its_measured_requests(engine, bench):
    server = engine(engine={"max_num_seqs": 2})

    result = bench(
        server.url,
        request_rate=400.0,
        num_requests=150,
        warmup="fixed",
        ttft_slo=None,
        itl_slo=None,
    )

    requests = result.summary["requests"]
    assert (requests["measured"], requests["drain"]) == (130, 130)
    assert "before the last measured answer" in result.said


def test_a_trace_is_replayed_at_its_times(engine, bench, tmp_path):
    trace = tmp_path / "azure.csv"
    rows = [f"2024-05-10 00:00:{i * 0.05:09.6f}+00:00,{40 + i},{3 + i % 5}" for i in range(60)]
    trace.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]))

    result = bench(
        engine().url,
        trace=trace,
        prompt_tokens=None,
        output_tokens=None,
        num_requests=None,
        warmup_requests=10,
    )

    columns = result.columns
    due_s = (columns.scheduled_ns - columns.scheduled_ns.min()) / 1e9
    assert due_s.tolist() == pytest.approx([i * 0.05 for i in range(60)], abs=1e-6)
    assert columns.prompt_tokens.tolist() == [40 + i for i in range(60)]
    assert columns.output_tokens.tolist() == [3 + i % 5 for i in range(60)]
    assert result.summary["requests"]["measured"] == 50


def test_a_duration_measures_for_so_long(engine, bench):
    result = bench(engine().url, request_rate=40.0, duration=2.0, num_requests=None)

    window_s = result.summary["window_s"]
    assert 1.7 < window_s < 2.6
    assert 45 < result.summary["requests"]["measured"] < 120
    assert result.summary["requests"]["not_sent"] == 0


def test_a_closed_loop_by_duration_has_enough_requests_to_its_end(engine, bench):
    result = bench(
        engine().url, concurrency=4, duration=2.0, num_requests=None, warmup_requests=8
    )

    assert 1.7 < result.summary["window_s"] < 2.6
    assert result.summary["requests"]["not_sent"] == 0
    assert result.summary["in_flight"]["mean"] > 3.4


def test_without_warmup_the_first_wave_is_told_to_be_included(engine, bench):
    result = bench(engine().url, concurrency=8, warmup_requests=0, num_requests=80)

    assert "first wave included" in result.summary["problems"]
    assert result.summary["requests"]["warmup"] == 0
    assert result.summary["requests"]["measured"] == 80


def test_adaptive_warmup_ends_early_and_all_that_follow_are_measured(engine, bench):
    result = bench(
        engine().url,
        concurrency=1,
        warmup="adaptive",
        warmup_requests=100,
        num_requests=130,
        output_tokens=4,
    )

    warmup = result.summary["warmup"]
    assert warmup["converged"] in (True, False)
    assert result.summary["requests"]["warmup"] == warmup["requests"] <= 100
    assert result.summary["requests"]["measured"] == 130 - warmup["requests"]


def test_a_cold_server_warms_up_before_anything_is_measured(engine, bench):
    """The first requests of a launch take 300 ms more; none of them is in the numbers."""
    server = engine(engine={"cold_requests": 4, "cold_ms": 300.0})

    result = bench(server.url, concurrency=2, warmup_requests=20, num_requests=80)

    columns = result.columns
    ttft_ms = (columns.first_token_ns - columns.sent_ns) / 1e6
    assert ttft_ms[columns.phase == "warmup"].max() > 250
    assert result.summary["ttft_ms"]["p99"] < 250
