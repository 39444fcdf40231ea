"""The simulation against the rehearsal engine's own scheduler, and what it never does."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.virtual_engine import served
from catalog.lengths import parse_lengths
from catalog.predict import NO_FLOOR, TOKENS, Engine, Floor, Limits, Load, StepTimes
from catalog.predict.engine import run
from catalog.predict.load import drawn
from catalog.predict.outcome import figures
from flows.rehearsal.settings import EngineSettings
from flows.rehearsal.stepmodel import StepModel

PROMPT, OUTPUT = parse_lengths("uniform:200:600"), parse_lengths("uniform:16:64")
MODEL = StepModel(
    decode_base_ms=8,
    decode_per_sequence_ms=0.2,
    decode_per_context_token_ms=0.0005,
    prefill_base_ms=12,
    prefill_per_token_ms=0.04,
)
TIMES = StepTimes(
    constant=0.008,
    per_sequence=0.0002,
    per_kv=5e-7,
    prefill=0.012,
    per_flop=4e-5,
    work=TOKENS,
)
LOADS = [
    Load(process="closed", streams=24, requests=80),
    Load(process="poisson", rate_per_s=6.0, requests=80),
    Load(process="poisson", rate_per_s=20.0, requests=80),
]


def course(engine, times, load, seed=3, *, prompt=PROMPT, output=OUTPUT):
    requests = drawn(load, prompt, output, seed)
    return requests, run(
        engine,
        times,
        requests,
        most_in_flight=load.most_in_flight,
        is_closed=load.process == "closed",
    )


@pytest.mark.parametrize("load", LOADS, ids=["closed", "light", "overloaded"])
@pytest.mark.parametrize("budget", [8192, 512])
@pytest.mark.parametrize("scheduler", ["chunked", "prefill_first"])
def test_every_token_comes_when_the_rehearsal_engine_gives_it(scheduler, budget, load) -> None:
    policy = "mixed" if scheduler == "chunked" else "prefill_first"
    engine = Engine(policy=policy, max_sequences=16, token_budget=budget)
    requests, found = course(engine, TIMES, load)

    stated = EngineSettings(scheduler=scheduler, max_num_seqs=16, token_budget=budget)
    truth = served(stated, MODEL, requests, load)

    first = truth.due_s + truth.ttft_s
    assert np.allclose(found.first_s, first, atol=1e-6)
    assert np.allclose(found.last_s, truth.last_s, atol=1e-6)


def test_a_full_cache_preempts_and_still_serves_everybody() -> None:
    engine = Engine(max_sequences=16, kv_tokens=1500)
    load = Load(process="closed", streams=16, requests=60)

    _, roomy = course(Engine(max_sequences=16), TIMES, load)
    requests, found = course(engine, TIMES, load)

    assert found.preemptions > 0
    assert roomy.preemptions == 0
    assert np.all(np.isfinite(found.last_s))
    assert max(found.last_s) > max(roomy.last_s)
    assert len(requests.due_s) == 60


def test_a_cap_holds_back_what_is_due() -> None:
    plain = Load(process="poisson", rate_per_s=50.0, requests=60)
    capped = Load(process="poisson", rate_per_s=50.0, requests=60, cap=2)

    _, free = course(Engine(), TIMES, plain)
    _, held = course(Engine(), TIMES, capped)

    assert held.peak_sequences <= 2 < free.peak_sequences


@settings(max_examples=25, deadline=None)
@given(
    coefficients=st.tuples(*[st.floats(0, 0.02)] * 2, *[st.floats(0, 1e-5)] * 2),
    bandwidth=st.floats(1e5, 1e9),
    peak=st.floats(1e3, 1e8),
    streams=st.integers(1, 12),
)
def test_no_gap_and_no_first_token_undercuts_the_bound(
    coefficients, bandwidth, peak, streams
) -> None:
    floor = Floor(
        bandwidth=bandwidth, peak=peak, weights=1e4, kv_per_token=1.0, token_flops=2.0
    )
    constant, prefill, per_kv, per_flop = coefficients
    times = StepTimes(
        constant=constant,
        per_sequence=0.0,
        per_kv=per_kv,
        prefill=prefill,
        per_flop=per_flop,
        work=TOKENS,
        floor=floor,
    )
    load = Load(process="closed", streams=streams, requests=20)
    requests, found = course(
        Engine(), times, load, prompt=parse_lengths(64), output=parse_lengths(8)
    )

    least = floor.step_s(1, 64, 0.0)
    gaps = [each.step_s for each in found.stretches]
    ttft = np.array(found.first_s) - np.array(found.due_s)
    assert min(gaps) >= least * (1 - 1e-9)
    assert ttft.min() >= max(1e4 / bandwidth, 64 / peak) * (1 - 1e-9)
    assert len(requests.due_s) == 20


def test_the_same_seed_gives_the_same_figures_and_another_one_others() -> None:
    load = LOADS[1]
    limits = Limits(ttft_s=0.1, itl_s=0.03, goodput=0.9)

    def of(seed: int):
        requests, found = course(Engine(), TIMES, load, seed)
        return figures(found, requests, load, limits, (1.0,))

    assert of(1) == of(1)
    assert of(1) != of(2)
    assert {"ttft_p95_ms", "tpot_p95_ms", "itl_p95_ms", "requests_per_s", "goodput"} <= {*of(1)}


def test_step_times_are_the_model_or_the_bound_whichever_is_longer() -> None:
    bound = StepTimes(
        constant=0.001,
        per_sequence=0.0,
        per_kv=0.0,
        prefill=0.0,
        per_flop=0.0,
        work=TOKENS,
        floor=Floor(bandwidth=1e6, weights=5000.0),
    )

    assert bound.step_s(1, 10) == pytest.approx(0.005)
    assert TIMES.floor is NO_FLOOR
    assert TIMES.step_s(2, 1000.0, 100.0) == pytest.approx(0.012 + 0.0004 + 5e-4 + 4e-3)


@pytest.mark.parametrize("statistic", ["p95_gap", "max_gap"])
def test_goodput_under_a_gap_statistic_sees_stalls_that_a_mean_hides(statistic) -> None:
    engine = Engine(policy="prefill_first", max_sequences=16)
    load = Load(process="poisson", rate_per_s=8.0, requests=80)
    requests, found = course(engine, TIMES, load)

    by_mean = figures(found, requests, load, Limits(itl_s=0.02), (1.0,))
    by_gap = figures(found, requests, load, Limits(itl_s=0.02, statistic=statistic), (1.0,))

    assert by_gap["goodput"] < by_mean["goodput"]
