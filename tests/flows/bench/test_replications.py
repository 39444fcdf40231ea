"""Several replications: medians and spread, never pooled requests."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from flows.bench.places import check_apart, check_place, write_json
from flows.bench.replications import combined
from flows.errors import UsageError


def document(p95=10.0, *, verdict="valid", problems=(), ok=100, incomplete=False):
    latency = {"mean": 5.0, "p95": p95}
    names = ("ttft_ms", "service_ttft_ms", "itl_ms", "tpot_ms", "e2e_ms")
    return {
        "schema_version": 1,
        "verdict": verdict,
        "problems": list(problems),
        "problem_details": [{"problem": name} for name in problems],
        "incomplete": incomplete,
        "requests": {"ok": ok, "failed": 100 - ok},
        **dict.fromkeys(names, latency),
        "output_tokens_per_s": 5.0,
        "requests_per_s": 2.0,
        "achieved_rate": None,
        "warmup": {"converged": True, "requests": 9},
    }


def test_one_replication_is_shown_as_it_is():
    only = document()

    assert combined([only]) == only


def test_several_are_shown_by_their_medians_and_their_requests_summed():
    whole = combined([document(100.0), document(101.0), document(180.0, ok=90)])

    assert whole["ttft_ms"]["p95"] == 101.0
    assert whole["requests"] == {"ok": 290, "failed": 10}
    assert whole["launches"] == 1
    assert [cell["ttft_ms"]["p95"] for cell in whole["replications"]] == [100, 101, 180]


def test_spread_is_median_raw_mad_minimum_and_maximum():
    whole = combined([document(100.0), document(101.0), document(180.0)])

    assert whole["spread"]["ttft_ms"]["p95"] == {
        "median": 101.0,
        "mad": 1.0,
        "min": 100.0,
        "max": 180.0,
    }


def test_the_worst_verdict_counts_and_problems_are_told_once():
    whole = combined(
        [
            document(verdict="not-steady", problems=["trend", "lockstep"]),
            document(verdict="client-bound", problems=["send lag", "trend"]),
            document(),
        ]
    )

    assert whole["verdict"] == "client-bound"
    assert whole["problems"] == ["trend", "lockstep", "send lag"]


def test_what_is_unknown_in_one_replication_is_unknown_over_all():
    whole = combined([document(10.0), document(None) | {"incomplete": True}])

    assert whole["ttft_ms"]["p95"] is None
    assert whole["spread"]["ttft_ms"]["p95"] is None
    assert whole["incomplete"] is True


def test_json_is_strict_sorted_and_whole(tmp_path):
    write_json({"b": 1, "a": None}, str(tmp_path / "out.json"))

    assert (tmp_path / "out.json").read_text() == '{\n "a": null,\n "b": 1\n}\n'
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]
    with pytest.raises(ValueError, match="Out of range"):
        write_json({"a": float("inf")}, str(tmp_path / "out.json"))


def test_json_for_a_dash_goes_to_standard_output(capsys):
    write_json({"a": 1}, "-")

    assert json.loads(capsys.readouterr().out) == {"a": 1}


def test_a_place_that_cannot_be_written_is_told_before_the_measurement(tmp_path):
    check_place("--json", str(tmp_path / "new.json"))
    check_place("--json", "-")
    check_place("--raw", None)
    for place in (tmp_path, tmp_path / "no" / "out.json"):
        with pytest.raises(UsageError):
            check_place("--json", str(place))


def test_a_pipe_or_device_is_never_replaced_by_a_file(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)

    for flag in ("--json", "--raw"):
        with pytest.raises(UsageError, match="is a device or a pipe"):
            check_place(flag, str(pipe))


def test_one_result_is_not_written_over_the_other(tmp_path):
    check_apart(str(tmp_path / "a"), tmp_path / "b")
    check_apart("-", Path("-"))
    with pytest.raises(UsageError, match="is the place of --json"):
        check_apart(str(tmp_path / "a"), tmp_path / "." / "a")
