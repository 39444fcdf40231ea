"""What a real llama-server says of a cell agrees with what the client sent and received."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = [pytest.mark.e2e, pytest.mark.xdist_group("engines")]


def test_its_counters_agree_with_the_clients_sums(llama_cell):
    cell = llama_cell
    columns = cell.columns

    assert set(columns.outcome) == {"ok"}
    assert cell.told["prompt_tokens"] == columns.prompt_tokens.sum()
    assert cell.told["generation_tokens"] == columns.output_tokens.sum()
    assert cell.told["cached_tokens"] == 0
    assert cell.server["servers"][0]["shares"]["prefix_hits"]["value"] == 0
    assert cell.server["servers"][0]["client"]["requests"] == len(columns)


def test_its_slots_are_full_and_four_wait(llama_cell):
    gauges = llama_cell.server["servers"][0]["gauges"]

    assert gauges["running"]["most"]["value"] == 2
    assert gauges["waiting"]["most"]["value"] == 4
    assert (gauges["waiting"]["before"], gauges["waiting"]["after"]) == (0, 0)


def test_its_queue_time_is_an_estimate_from_above_and_labelled_so(llama_cell):
    cell = llama_cell
    p95, mean = cell.server["server_queue_time_p95"], cell.server["server_queue_time_mean"]

    for figure in (p95, mean):
        assert figure["is_estimate"]
        assert "an estimate from above" in figure["method"]
        assert figure["n"] == np.count_nonzero(cell.is_measured)
    assert 0 < mean["value"] < cell.ttft_s.mean()
    assert 0 < p95["value"] <= cell.ttft_s.max()


def test_what_it_does_not_offer_is_said(llama_cell):
    missing = llama_cell.server["servers"][0]["missing"]

    for name in ("kv_use", "preemptions", "queue_time", "requests_finished"):
        assert missing[name]["not_available"] == "not offered by this version"
