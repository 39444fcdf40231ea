"""A cell's summary says what was measured, and its verdict the first reason to doubt it."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.cell import (
    CellSettings,
    ClientHealth,
    Concern,
    Observed,
    Slo,
    Verdict,
    summarise,
)
from reports.cell.problems import VERDICTS, Problem
from reports.cell.sums import OUTCOMES
from reports.columns import NULL

MS = 1_000_000
SLO = Slo(ttft_ms=1000, itl_ms=25, goodput=0.95)
SETTINGS = CellSettings(slo=SLO, arrival="poisson", offered_rate=8.0, output_tokens=10)
HEALTHY = Observed(
    warmup_converged=True, clients=(ClientHealth(loop_lag_ms_p99=0.2, cpu_share=0.2),)
)
WARMUP = 50


@pytest.fixture(scope="module")
def due_ms():
    return np.cumsum(np.random.default_rng(1).exponential(125, WARMUP + 200))


@pytest.fixture
def honest(cell_of, due_ms):
    """Builds the lesson's shape: 50 warm-up and 200 timed requests, Poisson at 8 per second."""

    def build(**changes):
        phase = ["warmup"] * WARMUP + ["measured"] * 200
        return cell_of(due_ms, **{"phase": phase, **changes})

    return build


def verdict(columns, settings=SETTINGS, observed=HEALTHY):
    return summarise(columns, settings, observed).verdict


def test_an_honest_cell_is_valid_without_a_problem(honest):
    summary = summarise(honest(), SETTINGS, HEALTHY)

    assert summary.problems == ()
    assert summary.verdict == Verdict.VALID
    assert {clause.verdict for clause in summary.clauses.values()} == {"holds"}
    assert summary.exit_code == 0


def test_a_cell_with_nothing_told_beside_its_requests_is_valid_too(honest):
    assert summarise(honest(), SETTINGS).verdict == Verdict.VALID


def test_a_plain_closed_cell_of_16_streams_with_fixed_lengths_is_valid(cell_of):
    rng = np.random.default_rng(2)
    due, ends = [], list(rng.uniform(0, 140, 16))
    ttft = rng.normal(50, 3, 400)
    for place in range(400):
        slot = int(np.argmin(ends))
        due.append(ends[slot])
        ends[slot] += ttft[place] + 90.2
    phase = ["warmup"] * 50 + ["measured"] * 300 + ["drain"] * 50
    cell = cell_of(due, ttft_ms=ttft, phase=phase)
    settings = CellSettings(slo=SLO, arrival="closed", concurrency=16, output_tokens=10)

    assert verdict(cell, settings) == Verdict.VALID


def slow_client(honest):
    return honest(lag_ms=30)


def missed_length(honest):
    return honest(output_tokens=5, chunk_tokens=np.full(2500, 0.5, np.float32))


def bound_by_the_cap(honest, due_ms):
    return honest(slot_free_ns=np.rint((due_ms + 10) * MS).astype(np.int64), lag_ms=10.1)


def growing(honest):
    return honest(ttft_ms=np.linspace(50, 900, 250))


CAPPED = replace(SETTINGS, concurrency=16)


def test_each_reason_to_doubt_has_its_verdict(honest, due_ms):
    assert verdict(slow_client(honest)) == Verdict.CLIENT_BOUND
    assert verdict(missed_length(honest)) == Verdict.INVALID
    assert verdict(bound_by_the_cap(honest, due_ms), CAPPED) == Verdict.CAP_BOUND
    assert verdict(growing(honest)) == Verdict.NOT_STEADY


def test_of_several_verdicts_the_gravest_is_the_cells(honest, due_ms):
    everything = honest(
        lag_ms=60,
        ttft_ms=np.linspace(70, 900, 250),
        output_tokens=5,
        slot_free_ns=np.rint((due_ms + 10) * MS).astype(np.int64),
    )
    capped_and_growing = honest(
        lag_ms=10.1,
        ttft_ms=np.linspace(70, 900, 250),
        slot_free_ns=np.rint((due_ms + 10) * MS).astype(np.int64),
    )
    short_and_growing = honest(ttft_ms=np.linspace(50, 900, 250), output_tokens=5)

    assert verdict(everything, CAPPED) == Verdict.CLIENT_BOUND
    assert verdict(short_and_growing, CAPPED) == Verdict.INVALID
    assert verdict(capped_and_growing, CAPPED) == Verdict.CAP_BOUND


def test_every_cell_that_is_not_valid_ends_with_7(honest):
    assert summarise(growing(honest), SETTINGS).exit_code == 7


@pytest.mark.parametrize(
    ("slo", "code"),
    [
        (SLO, 0),
        (replace(SLO, ttft_ms=40), 4),
        (replace(SLO, itl_ms=9), 4),
        (replace(SLO, goodput=0.99), 5),
        (Slo(), 0),
    ],
)
def test_a_valid_cell_ends_by_its_clauses(honest, slo, code):
    assert summarise(honest(), replace(SETTINGS, slo=slo)).exit_code == code


def test_a_miss_outranks_an_inconclusive_clause(honest):
    slo = replace(SLO, ttft_ms=40, goodput=0.99)

    assert summarise(honest(), replace(SETTINGS, slo=slo)).exit_code == 4


def test_clauses_are_judged_apart(honest):
    summary = summarise(honest(), replace(SETTINGS, slo=replace(SLO, itl_ms=9)))

    assert summary.clauses["ttft"].verdict == "holds"
    assert summary.clauses["itl"].verdict == "misses"
    assert summary.clauses["goodput"].verdict == "misses"


def test_196_compliant_requests_of_200_hold_95_percent_and_195_do_not(honest):
    def exit_code(slow):
        ttft = np.full(250, 50.0)
        ttft[-slow:] = 2000
        ttft = np.random.default_rng(3).permutation(ttft[50:])
        return summarise(honest(ttft_ms=np.r_[[50.0] * 50, ttft]), SETTINGS).clauses

    assert exit_code(4)["goodput"].verdict == "holds"
    assert exit_code(5)["goodput"].verdict == "inconclusive"


def test_statistics_are_of_measured_requests_and_counts_of_all(honest):
    summary = summarise(honest(ttft_ms=np.r_[[9000.0] * 50, [50.0] * 200]), SETTINGS)

    assert summary.measures["ttft"].ok.percentiles[99] == 50
    assert summary.measures["ttft"].ok.count == 200
    assert summary.counts["planned"] == 250
    assert summary.counts["measured"] == 200


def test_failures_stand_beside_the_percentiles_of_the_successes(honest, without_answers):
    failing = without_answers(honest(), np.arange(60, 240, 9), "failed_http")
    document = summarise(failing, SETTINGS).to_json()

    assert document["requests"]["failed"] == 20
    assert document["ttft_ms"]["p95"] == 50
    assert document["ttft_with_failures_ms"]["p90"] == 50
    assert document["ttft_with_failures_ms"]["p95"] is None
    assert document["ttft_with_failures_ms"]["mean"] is None
    assert document["itl_with_failures_ms"]["p95"] is None
    assert document["goodput"]["tpot"]["share"] == 0.9
    assert "failed requests" in document["problems"]


def test_truncated_answers_are_failures_of_their_own_kind(honest):
    outcome = ["ok"] * 245 + ["truncated"] * 5
    document = summarise(honest(outcome=outcome), SETTINGS).to_json()

    assert document["requests"]["truncated"] == 5
    assert document["goodput"]["tpot"]["compliant"] == 195
    assert "truncated answers" in document["problems"]


def test_in_flight_is_the_mean_and_peak_of_the_measured_window(honest):
    through = summarise(honest(), SETTINGS).throughput

    assert through.in_flight_mean == pytest.approx(8 * 0.14, rel=0.15)
    assert through.in_flight_peak <= 8


def test_throughput_is_over_the_window_whatever_phase_requests_belong_to(cell_of):
    phase = ["warmup"] * 20 + ["measured"] * 60 + ["drain"] * 20
    through = summarise(cell_of(np.arange(100) * 100.0, phase=phase), SETTINGS).throughput

    assert through.requests_per_s == pytest.approx(10, rel=0.03)
    assert through.output_tokens_per_s == pytest.approx(100, rel=0.03)
    assert through.achieved_rate == pytest.approx(10)


def test_bunched_chunks_leave_itl_unseen_and_its_clause_open(honest):
    bunched = honest(gaps_ms=[0.0] * 8 + [90.0])
    summary = summarise(bunched, SETTINGS, HEALTHY)
    document = summary.to_json()

    assert document["itl_ms"]["p95"] is None
    assert document["tpot_ms"]["p50"] is None
    assert document["goodput"]["tpot"]["share"] is None
    assert document["problems"] == ["ITL not observable here"]
    assert summary.verdict == Verdict.VALID
    assert summary.clauses["itl"].verdict == "inconclusive"
    assert summary.exit_code == 5


def test_bunched_chunks_do_not_hide_ttft_goodput_where_no_itl_is_limited(honest):
    slo = Slo(ttft_ms=1000, goodput=0.95)
    summary = summarise(honest(gaps_ms=[0.0] * 9), replace(SETTINGS, slo=slo))

    assert summary.goodput["tpot"].share == 1
    assert summary.exit_code == 0


@pytest.mark.parametrize("statistic", ["tpot", "p95_gap", "max_gap"])
def test_one_asked_token_meets_every_itl_statistic(honest, statistic):
    slo = replace(SLO, itl_statistic=statistic)
    one = replace(SETTINGS, output_tokens=1, slo=slo)
    summary = summarise(honest(gaps_ms=[]), one, HEALTHY)

    assert summary.clauses["itl"].verdict == "holds"
    assert summary.goodput[statistic].share == 1


@pytest.mark.parametrize(
    ("statistic", "value"), [("tpot", 11), ("p95_gap", 10), ("max_gap", 19)]
)
def test_the_itl_clause_follows_the_chosen_statistic(honest, statistic, value):
    gaps = [[10.0] * 8 + [19.0]] * 20 + [[10.0] * 9] * 230
    rows = np.random.default_rng(4).permutation(250)
    cell = honest(gaps_ms=[gaps[row] for row in rows])
    settings = replace(SETTINGS, slo=replace(SLO, itl_statistic=statistic))

    assert summarise(cell, settings).clauses["itl"].value == value


def test_a_verdict_that_hangs_on_the_statistic_is_told(honest):
    spiky = honest(gaps_ms=[10.0] * 8 + [40.0])
    summary = summarise(spiky, SETTINGS, HEALTHY)

    assert [problem.concern for problem in summary.problems] == [Concern.STATISTIC]
    assert summary.problems[0].seen == "100.0% by tpot, 0.0% by p95_gap, 0.0% by max_gap"


def test_the_limit_on_the_first_answer_token_is_its_own_clause(honest):
    slo = replace(SLO, first="answer", ttft_ms=60)
    thinking = honest(first_answer_ns=None)
    clause = summarise(thinking, replace(SETTINGS, slo=slo)).clauses["ttft"]

    assert clause.statistic == "p95 TTFA"
    assert clause.verdict == "misses"


@pytest.mark.parametrize(("warmup", "told"), [(0, True), (1, False)])
def test_without_warmup_the_first_wave_is_included(cell_of, due_ms, warmup, told):
    phase = ["warmup"] * warmup + ["measured"] * (250 - warmup)
    problems = summarise(cell_of(due_ms, phase=phase), SETTINGS).to_json()["problems"]

    assert ("first wave included" in problems) == told


def test_a_closed_loop_discards_as_many_as_it_has_streams(cell_of):
    phase = ["warmup"] * 15 + ["measured"] * 185
    settings = CellSettings(slo=SLO, arrival="closed", concurrency=16)
    problems = summarise(cell_of(np.arange(200) * 9.0, phase=phase), settings).problems

    assert Concern.FIRST_WAVE in [problem.concern for problem in problems]


@pytest.mark.parametrize(
    ("observed", "problem"),
    [
        (Observed(complete=False), "incomplete"),
        (Observed(warmup_converged=False), "warm-up not converged"),
    ],
)
def test_what_the_run_says_of_itself_is_told_and_voids_nothing(honest, observed, problem):
    summary = summarise(honest(), SETTINGS, observed)

    assert summary.to_json()["problems"] == [problem]
    assert summary.to_json()["incomplete"] == (not observed.complete)
    assert summary.verdict == Verdict.VALID


def test_too_few_requests_for_a_bound_are_told(cell_of, due_ms):
    phase = ["warmup"] * 192 + ["measured"] * 58
    summary = summarise(cell_of(due_ms, phase=phase), SETTINGS)

    assert summary.to_json()["problems"] == ["too few requests"]
    assert summary.to_json()["limits_ms"]["ttft"]["p95"]["high"] is None


def test_requests_sent_again_are_told(honest):
    again = [False] * 200 + [True] * 50

    assert summarise(honest(reconnected=again), SETTINGS).to_json()["problems"] == [
        "reconnected"
    ]


def test_a_cell_without_requests_is_invalid_and_has_no_zeros_for_no_data(cell_of):
    summary = summarise(cell_of([]), SETTINGS)
    document = summary.to_json()

    assert summary.verdict == Verdict.INVALID
    assert document["problems"] == ["nothing measured"]
    assert document["ttft_ms"] == dict.fromkeys(["mean", "p50", "p90", "p95", "p99"])
    assert document["output_tokens_per_s"] is None
    assert document["goodput"]["tpot"]["share"] is None


def test_a_cell_in_which_everything_failed_is_told_by_its_failures(honest, without_answers):
    failed = without_answers(honest(error="refused"), np.arange(250), "failed_connect")
    summary = summarise(failed, SETTINGS)

    assert summary.goodput["tpot"].share == 0
    assert summary.clauses["ttft"].verdict == "misses"
    assert summary.exit_code == 4
    details = summary.to_json()["problem_details"]
    assert details[0]["seen"] == (
        "200 failed_connect of 200 measured requests; most often: refused"
    )


def test_a_cell_in_which_everything_failed_is_no_success_where_nothing_is_limited(
    honest, without_answers
):
    failed = without_answers(honest(error="refused"), np.arange(250), "failed_http")
    summary = summarise(failed, replace(SETTINGS, slo=Slo()))

    assert summary.verdict == Verdict.INVALID
    assert summary.exit_code == 7
    assert "of 200 measured requests none succeeded" in summary.problems[0].seen


def test_without_any_limit_there_is_no_goodput(honest):
    summary = summarise(honest(), replace(SETTINGS, slo=Slo()))

    assert summary.to_json()["goodput"]["tpot"]["share"] is None
    assert summary.clauses["goodput"].verdict == "no such clause"


def test_the_document_has_the_promised_keys_and_is_json(honest):
    document = summarise(honest(), SETTINGS, HEALTHY).to_json()
    latency = {"mean", "p50", "p90", "p95", "p99"}

    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["schema_version"] == 1
    assert document["verdict"] == "valid"
    requests = "planned sent ok failed truncated timed_out cancelled not_sent warmup measured"
    assert set(requests.split()) <= set(document["requests"])
    for name in ("ttft", "service_ttft", "ttfa", "itl", "tpot", "e2e", "client_queue"):
        assert set(document[f"{name}_ms"]) == latency
    for name in ("ttft", "service_ttft", "itl", "tpot", "e2e"):
        assert set(document[f"{name}_with_failures_ms"]) == latency
    assert set(document["goodput"]) == {"tpot", "p95_gap", "max_gap"}
    for found in document["goodput"].values():
        assert {"share", "compliant", "scheduled", "lower_bound"} <= set(found)
    assert set(document["in_flight"]) == {"mean", "peak"}
    assert set(document["arrivals"]) == {"cv", "fano", "lag1"}
    assert {"prompt", "output", "source"} <= set(document["tokens"])
    assert set(document["warmup"]) == {"requests", "converged"}
    client = {"send_lag_ms_p99", "loop_lag_ms_p99", "cpu_share"}
    assert client <= set(document["client"])
    for name in ("output_tokens_per_s", "requests_per_s", "offered_rate", "achieved_rate"):
        assert document[name] > 0


def test_every_concern_says_why_it_matters_and_what_helps():
    for concern in Concern:
        problem = Problem(concern=concern, seen="x")

        assert problem.matters.endswith(".")
        assert problem.do.endswith(".")
        assert problem.to_json()["problem"] == concern.value


def test_only_what_the_method_names_takes_a_verdict_away():
    assert set(VERDICTS.values()) == set(Verdict) - {Verdict.VALID}


def test_an_interrupted_run_is_summarised_as_far_as_it_came(honest, without_answers):
    stopped = without_answers(honest(), np.arange(240, 250))
    stopped = without_answers(stopped, np.arange(236, 240), "cancelled")
    due = stopped.scheduled_ns.copy()
    due[245:] = NULL
    summary = summarise(
        replace(stopped, scheduled_ns=due),
        replace(SETTINGS, planned_requests=300),
        replace(HEALTHY, complete=False),
    )

    assert summary.verdict == Verdict.VALID
    assert summary.to_json()["incomplete"] is True
    assert summary.to_json()["problems"] == ["incomplete"]
    assert (summary.counts["cancelled"], summary.counts["not_sent"]) == (4, 10)
    assert summary.goodput["tpot"].scheduled == 200


@given(
    fates=st.lists(
        st.tuples(
            st.sampled_from(["warmup", "measured", "drain"]),
            st.sampled_from([*OUTCOMES, "ok", "ok", "ok"]),
            st.integers(0, 5),
            st.integers(0, 2000),
        ),
        max_size=30,
    ),
    statistic=st.sampled_from(["tpot", "p95_gap", "max_gap"]),
    arrival=st.sampled_from(["closed", "poisson", "gamma", "constant", "trace"]),
)
def test_whatever_became_of_its_requests_a_cell_has_a_summary(
    cell_of, without_answers, fates, statistic, arrival
):
    silent = [place for place, fate in enumerate(fates) if fate[1] not in ("ok", "truncated")]
    cell = cell_of(
        [fate[3] for fate in fates],
        gaps_ms=[[5.0] * fate[2] for fate in fates],
        phase=[fate[0] for fate in fates],
    )
    for place in silent:
        cell = without_answers(cell, [place], fates[place][1])
    outcome = cell.outcome.copy()
    outcome[:] = [fate[1] for fate in fates]
    settings = CellSettings(
        slo=replace(SLO, itl_statistic=statistic),
        arrival=arrival,
        offered_rate=None if arrival == "closed" else 8.0,
        concurrency=4,
        burstiness=0.5,
    )
    summary = summarise(replace(cell, outcome=outcome), settings)
    document = summary.to_json()

    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert summary.exit_code in (0, 4, 5, 7)
    for found in document["goodput"].values():
        assert found["share"] is None or 0 <= found["lower_bound"] <= found["share"] <= 1
    for name in ("ttft", "itl", "tpot", "e2e"):
        ok, all_of_them = document[f"{name}_ms"], document[f"{name}_with_failures_ms"]
        for percent in ("p50", "p90", "p95", "p99"):
            assert all_of_them[percent] is None or all_of_them[percent] >= ok[percent]


def test_order_of_requests_changes_no_number(honest):
    cell = honest(ttft_ms=np.random.default_rng(6).gamma(4, 20, 250))
    shuffled = np.random.default_rng(7).permutation(250)
    turned = honest(ttft_ms=np.random.default_rng(6).gamma(4, 20, 250))
    fixed = {"gap_us", "gap_offsets", "chunk_tokens", "chunk_offsets"}
    turned = replace(
        turned,
        **{
            name: getattr(turned, name)[shuffled]
            for name in turned.__dataclass_fields__
            if name not in fixed
        },
    )

    assert (
        summarise(turned, SETTINGS).to_json()["ttft_ms"]["p95"]
        == (summarise(cell, SETTINGS).to_json()["ttft_ms"]["p95"])
    )
    assert summarise(turned, SETTINGS).verdict == summarise(cell, SETTINGS).verdict
