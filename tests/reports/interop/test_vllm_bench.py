"""Files of vllm bench serve: converted by our definitions, or refused with the reason."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.cell import CellSettings, Slo, summarise
from reports.cell.latency import latencies, send_lag_ms
from reports.columns import NULL
from reports.errors import ReportsError
from reports.interop import reader, tools, writer
from reports.interop.foreign import Foreign, OwnCell
from reports.interop.vllm_bench import read, write

# four answers, the first of one token and the third in two chunks, and one that failed
RESULT: dict[str, Any] = {
    "date": "20260822-120000",
    "endpoint_type": "vllm",
    "backend": "vllm",
    "label": "B",
    "model_id": "meta-llama/Meta-Llama-3-8B-Instruct",
    "tokenizer_id": "meta-llama/Meta-Llama-3-8B-Instruct",
    "num_prompts": 5,
    "request_rate": 2.0,
    "burstiness": 1.0,
    "max_concurrency": 2,
    "duration": 3.0,
    "completed": 4,
    "failed": 1,
    "total_input_tokens": 4096,
    "total_output_tokens": 11,
    "request_throughput": 4 / 3,
    "request_goodput": None,
    "output_throughput": 11 / 3,
    "total_token_throughput": 4107 / 3,
    "input_lens": [1024] * 5,
    "output_lens": [1, 3, 4, 0, 3],
    "ttfts": [0.25, 0.5, 0.75, 0.0, 0.5],
    "itls": [[], [0.02, 0.04], [0.06], [], [0.01, 0.03]],
    "latencies": [0.25, 0.56, 0.81, 0.0, 0.54],
    "start_times": [100.0, 100.5, 101.0, 101.5, 102.0],
    "queue_times": [0.0, 0.125, 0.0, 0.25, 0.0],
    "generated_texts": ["a", "b", "c", "", "d"],
    "errors": ["", "", "", "Service Unavailable", ""],
    "max_output_tokens_per_s": 5.0,
    "max_concurrent_requests": 2,
    "mean_ttft_ms": 500.0,
    "mean_itl_ms": 32.0,
}


def result(**changes: Any) -> dict[str, Any]:
    made = {**copy.deepcopy(RESULT), **changes}
    return {name: value for name, value in made.items() if value is not ...}


def one(**changes: Any) -> Foreign:
    (found,) = read(json.dumps(result(**changes)), "results.json")
    return found


def columns_of(found: Foreign) -> Any:
    return found.columns(run="r", cell="c", replication=0, launch="l")


def refusal(**changes: Any) -> str:
    with pytest.raises(ReportsError) as caught:
        one(**changes)
    return caught.value.seen


def test_the_tool_is_found_by_scanning() -> None:
    assert tools() == ("vllm-bench",)
    assert reader("vllm-bench") is read
    assert writer("vllm-bench") is write
    with pytest.raises(ReportsError, match="there is no tool 'genai-perf'"):
        reader("genai-perf")


def test_a_request_is_due_when_it_came_and_its_wait_for_a_place_counts() -> None:
    found = latencies(columns_of(one()))

    assert found.service_ttft[:3] == pytest.approx([250, 500, 750])
    assert found.ttft[:3] == pytest.approx([250, 625, 750])
    assert found.client_queue == pytest.approx([0, 125, 0, 250, 0])
    assert found.e2e[1] == pytest.approx(685)


def test_tpot_is_made_again_and_undefined_for_one_token() -> None:
    found = latencies(columns_of(one()))

    assert np.isnan(found.tpot[0])
    assert found.tpot[1] == pytest.approx(30)
    # two chunks of two tokens: 60 ms for the two behind the first chunk
    assert found.tpot[2] == pytest.approx(30)


def test_an_answer_of_fewer_chunks_than_tokens_is_an_estimate() -> None:
    found = one()

    assert list(columns_of(found).chunk_tokens_source)[:3] == ["usage", "usage", "estimate"]
    assert any("estimate" in note for note in found.notes)


def test_what_failed_stays_with_its_reason_and_without_times_of_an_answer() -> None:
    columns = columns_of(one())

    assert list(columns.outcome) == ["ok", "ok", "ok", "failed_in_band", "ok"]
    assert columns.error[3] == "Service Unavailable"
    assert columns.first_token_ns[3] == NULL
    assert columns.output_tokens[3] == NULL
    assert columns.done_ns[3] == columns.sent_ns[3]  # at the earliest


def test_the_wait_for_a_place_is_no_delay_of_the_client() -> None:
    columns = columns_of(one())

    assert set(send_lag_ms(columns)) == {0.0}
    assert list(columns_of(one(max_concurrency=None)).slot_free_ns) == [NULL] * 5


def test_the_sums_of_a_file_with_failures_add_up() -> None:
    summary = summarise(
        columns_of(one()),
        CellSettings(
            slo=Slo(ttft_ms=1000), arrival="poisson", offered_rate=2.0, planned_requests=5
        ),
    )

    assert "sums do not add up" not in [each.concern.value for each in summary.problems]


def test_failures_of_the_arrays_are_in_the_percentiles_with_failures() -> None:
    summary = summarise(
        columns_of(one()),
        CellSettings(slo=Slo(ttft_ms=1000, itl_ms=25), arrival="poisson", offered_rate=2.0),
    )

    assert summary.counts["failed"] == 1
    assert summary.goodput["tpot"].scheduled == 5
    assert summary.measures["ttft"].ok.count == 4
    assert summary.measures["ttft"].with_failures.percentiles[99] is None


def test_an_answer_of_one_token_is_not_compliant_by_a_tpot_of_zero() -> None:
    summary = summarise(
        columns_of(one(output_lens=[1, 1, 1, 0, 1], itls=[[]] * 5, mean_itl_ms=0.0,
                       total_output_tokens=4)),
        CellSettings(slo=Slo(itl_ms=25), arrival="poisson", offered_rate=2.0),
    )  # fmt: skip

    assert summary.clauses["itl"].verdict != "holds"


def test_without_queue_times_a_capped_rate_has_service_latencies_only() -> None:
    found = one(queue_times=...)
    latency = latencies(columns_of(found))

    assert found.is_service_only
    assert any(note.startswith("service latency only") for note in found.notes)
    assert latency.service_ttft[0] == pytest.approx(250)
    assert np.isnan(latency.ttft).all()


def test_service_latencies_prove_no_limit_on_ttft() -> None:
    summary = summarise(
        columns_of(one(queue_times=...)),
        CellSettings(
            slo=Slo(ttft_ms=10_000, itl_ms=10_000, goodput=0.5),
            arrival="poisson",
            offered_rate=2.0,
            concurrency=2,
        ),
    )

    assert summary.clauses["ttft"].verdict != "holds"
    assert not summary.goodput["tpot"].compliant


def test_without_a_cap_the_send_is_when_a_request_came() -> None:
    found = one(queue_times=..., max_concurrency=None)

    assert not found.is_service_only
    assert latencies(columns_of(found)).ttft[1] == pytest.approx(500)
    assert any("schedule is not in the file" in note for note in found.notes)


@pytest.mark.parametrize("rate", ["inf", float("inf")])
def test_all_at_once_under_a_cap_is_a_closed_loop_whose_first_wave_is_not_timed(
    rate: Any,
) -> None:
    found = one(request_rate=rate)
    columns = columns_of(found)

    assert (found.process, found.streams, found.max_in_flight) == ("closed", 2, None)
    assert list(columns.phase) == ["warmup", "warmup", "measured", "measured", "measured"]
    assert list(latencies(columns).client_queue) == [0] * 5


def test_all_at_once_without_a_cap_is_one_wave_and_says_so() -> None:
    found = one(request_rate="inf", max_concurrency=None)

    assert (found.process, found.streams) == ("closed", 5)
    assert set(columns_of(found).phase) == {"measured"}
    assert any("one wave" in note for note in found.notes)


@pytest.mark.parametrize(
    ("burstiness", "process"), [(1.0, "poisson"), (0.5, "gamma"), ("inf", "constant")]
)
def test_the_process_of_arrivals_is_that_of_the_burstiness(
    burstiness: Any, process: str
) -> None:
    found = one(burstiness=burstiness)

    assert (found.process, found.rate_per_s, found.max_in_flight) == (process, 2.0, 2)
    assert any("rescaled" in note for note in found.notes)


def test_a_file_holds_several_results_one_after_the_other() -> None:
    text = "\n".join(json.dumps(result(label=label)) for label in "BCD") + "\n"

    assert [each.label for each in read(text, "results.json")] == ["B", "C", "D"]
    assert [each.where for each in read(text, "results.json")][2] == "results.json, result 3"


def test_a_request_that_failed_before_it_was_sent_is_not_before_all_others() -> None:
    columns = columns_of(one(start_times=[100.0, 100.5, 101.0, 0.0, 102.0]))

    assert int(columns.sent_ns[3]) == 101 * 10**9


def test_a_success_without_output_counts_as_failed() -> None:
    found = one(errors=[""] * 5, completed=5, failed=0, mean_ttft_ms=400.0)

    assert columns_of(found).error[3] == "no output tokens"
    assert any("without output tokens" in note for note in found.notes)


@pytest.mark.parametrize("array", ["input_lens", "output_lens", "ttfts", "itls", "start_times"])
def test_without_the_requests_there_is_nothing_to_import(array: str) -> None:
    assert f"it has no {array}" in refusal(**{array: ...})


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"completed": 5}, "completed 5, its arrays 4"),
        ({"failed": 0}, "failed 0, its arrays 1"),
        ({"num_prompts": 6}, "num_prompts 6, its arrays 5"),
        ({"total_output_tokens": 12}, "total_output_tokens 12, its arrays 11"),
        ({"ttfts": [250.0, 500.0, 750.0, 0.0, 500.0]}, "mean_ttft_ms 500"),
        ({"mean_itl_ms": 0.032}, "mean_itl_ms 0.032"),
        ({"latencies": [1.0]}, "its arrays differ: 1 latencies, 5 ttfts"),
        ({"itls": [[]]}, "not all of 5 requests"),
        ({"errors": [""]}, "not all of 5 requests"),
        ({"ttfts": 3}, "its ttfts is no array"),
        ({"start_times": [1, 2, 3, "x", 5]}, "no finite number"),
        ({"start_times": [1, 2, 3, float("inf"), 5]}, "no finite number"),
        ({"ttfts": [-0.25, 0.5, 0.75, 0.0, 0.5]}, "negative"),
        ({"request_rate": 0}, "request_rate is 0"),
        ({"request_rate": "fast"}, "request_rate is 'fast'"),
        ({"max_concurrency": 0}, "max_concurrency is 0"),
        ({"ramp_up_strategy": "linear"}, "ramped up"),
        ({"input_sequence_throughput": 3.0}, "pooling"),
        ({"errors": ["down"] * 5, "completed": 0, "failed": 5}, "no request of it succeeded"),
    ],
)
def test_what_has_no_counterpart_is_refused_with_its_reason(
    changes: dict[str, Any], said: str
) -> None:
    assert said in refusal(**changes)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        (" \n ", "it is empty"),
        ("{", "it is no JSON"),
        ("[]", "no result of vllm bench serve"),
        ('{"verdict": "valid"}', "no result of vllm bench serve"),
        (json.dumps(RESULT) + "\ntrailing", "it is no JSON"),
        (json.dumps(RESULT).replace("500.0", "NaN"), "NaN is no number"),
        ("[" * 100_000, "it is no JSON"),
    ],
)
def test_a_file_of_something_else_is_refused(text: str, said: str) -> None:
    with pytest.raises(ReportsError) as caught:
        read(text, "results.json")

    assert said in caught.value.seen


def own(columns: Any, **changes: Any) -> OwnCell:
    values: dict[str, Any] = {
        "candidate": "B",
        "model": RESULT["model_id"],
        "started_at": "20260822-120000",
        "process": "poisson",
        "rate_per_s": 2.0,
        "burstiness": 1.0,
        "max_in_flight": 2,
        "columns": columns,
    }
    return OwnCell(**{**values, **changes})


def test_what_is_written_has_every_key_of_the_tool_and_its_figures() -> None:
    written = write(own(columns_of(one())))

    assert set(RESULT) <= set(written)
    for name in ("completed", "failed", "total_input_tokens", "total_output_tokens"):
        assert written[name] == RESULT[name]
    for name in ("ttfts", "latencies", "start_times", "queue_times"):
        assert written[name] == pytest.approx(RESULT[name])
    assert written["errors"] == RESULT["errors"]
    assert written["mean_ttft_ms"] == pytest.approx(500)
    # by its definition: (560 - 500) / 2, (810 - 750) / 3 and (540 - 500) / 2
    assert written["mean_tpot_ms"] == pytest.approx((30 + 20 + 20) / 3)
    assert written["max_concurrent_requests"] == 2
    json.dumps(written, allow_nan=False)


def test_a_closed_loop_is_written_as_an_infinite_rate_under_a_cap() -> None:
    written = write(own(columns_of(one()), process="closed", rate_per_s=None))

    assert (written["request_rate"], written["max_concurrency"]) == ("inf", 2)


def test_a_cell_without_any_answer_can_be_written() -> None:
    columns = columns_of(one())
    written = write(own(columns.where(columns.outcome != "ok")))

    assert (written["completed"], written["failed"]) == (0, 1)
    json.dumps(written, allow_nan=False)


SECONDS = st.floats(1e-4, 100.0)


@st.composite
def results(draw: st.DrawFn) -> dict[str, Any]:
    """Any file of the tool: answers of any length, failures, waits, with or without a cap."""
    count = draw(st.integers(1, 8))
    ok = [True, *draw(st.lists(st.booleans(), min_size=count - 1, max_size=count - 1))]
    itls = [draw(st.lists(SECONDS, max_size=5)) if good else [] for good in ok]
    ttfts = [draw(SECONDS) if good else 0.0 for good in ok]
    starts = np.cumsum([draw(SECONDS) for _ in ok]).tolist()
    lens = [len(gaps) + 1 if good else 0 for gaps, good in zip(itls, ok, strict=True)]
    return {
        "model_id": "m",
        "request_rate": draw(st.sampled_from(["inf", 0.5, 8.0])),
        "max_concurrency": draw(st.sampled_from([None, 1, 3])),
        "request_throughput": 1.0,
        "input_lens": [10] * count,
        "output_lens": lens,
        "ttfts": ttfts,
        "itls": itls,
        "latencies": [t + sum(g) for t, g in zip(ttfts, itls, strict=True)],
        "start_times": starts,
        "queue_times": [draw(st.floats(0.0, 10.0)) for _ in ok],
        "errors": ["" if good else "boom" for good in ok],
        "completed": sum(ok),
        "failed": count - sum(ok),
    }


@given(results())
def test_no_request_is_lost_and_no_latency_gets_shorter(file: dict[str, Any]) -> None:
    (found,) = read(json.dumps(file), "f")
    columns = columns_of(found)
    latency = latencies(columns)
    ok = columns.outcome == "ok"

    assert len(columns) == len(file["ttfts"])
    assert int(ok.sum()) == file["completed"]
    sent = np.array(file["ttfts"])[ok] * 1e3
    assert latency.service_ttft[ok] == pytest.approx(sent, abs=2e-6)
    assert (latency.ttft[ok] >= latency.service_ttft[ok]).all()
    assert (latency.e2e[ok] >= latency.ttft[ok]).all()


@given(results())
def test_what_is_written_and_read_again_is_the_same(file: dict[str, Any]) -> None:
    (found,) = read(json.dumps(file), "f")
    columns = columns_of(found)
    again = write(
        own(
            columns,
            rate_per_s=found.rate_per_s,
            max_in_flight=found.streams or found.max_in_flight,
        )
    )
    (back,) = read(json.dumps(again), "f")
    ours, theirs = latencies(columns), latencies(columns_of(back))

    assert list(columns_of(back).outcome) == list(columns.outcome)
    for name in ("service_ttft", "ttft", "tpot", "e2e", "max_gap"):
        before, after = getattr(ours, name), getattr(theirs, name)
        assert after == pytest.approx(before, rel=1e-5, abs=1e-3, nan_ok=True)
