"""Step times from measured cells: exact where they can be, never below 0, else unknown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.virtual_engine import served
from catalog.lengths import parse_lengths
from catalog.predict import (
    NO_FLOOR,
    TOKENS,
    Engine,
    Limits,
    Load,
    Prior,
    Question,
    capacity,
    fitted,
    predicted,
    rows_of,
)
from catalog.predict.load import drawn
from flows.rehearsal.settings import EngineSettings
from flows.rehearsal.stepmodel import StepModel

PROMPT, OUTPUT = parse_lengths("uniform:100:400"), parse_lengths("uniform:16:64")
MODEL = StepModel(
    decode_base_ms=8,
    decode_per_sequence_ms=0.2,
    decode_per_context_token_ms=0.0005,
    prefill_base_ms=12,
    prefill_per_token_ms=0.04,
)
SETTINGS = EngineSettings(scheduler="prefill_first", max_num_seqs=16)
ENGINE = Engine(policy="prefill_first", max_sequences=16)
QUESTION = Question(
    engine=ENGINE, prompt=PROMPT, output=OUTPUT, limits=Limits(ttft_s=0.3, itl_s=0.025)
)


def measured(load, seed=1, model=MODEL):
    return served(SETTINGS, model, drawn(load, PROMPT, OUTPUT, seed), load, seed)


def closed(streams, requests=60):
    return Load(process="closed", streams=streams, requests=requests, warm_up=streams)


def fit_of(*streams, model=MODEL, prior=None):
    cells = [
        rows_of(measured(closed(n), n, model).seen(), TOKENS, ENGINE.policy) for n in streams
    ]
    return fitted(cells, prior, work=TOKENS, floor=NO_FLOOR)


def test_two_cells_without_noise_give_the_engine_s_own_coefficients() -> None:
    best = fit_of(1, 8).best

    found = (best.constant, best.per_sequence, best.per_kv, best.prefill, best.per_flop)
    assert found == pytest.approx((0.008, 0.0002, 5e-7, 0.012, 4e-5), rel=0.04)


@pytest.mark.parametrize("scheduler", ["chunked", "prefill_first"])
def test_loads_that_were_not_measured_are_predicted_within_15_percent_in_the_median(
    scheduler,
) -> None:
    noisy = StepModel(
        decode_base_ms=8,
        decode_per_sequence_ms=0.2,
        decode_per_context_token_ms=0.0005,
        prefill_base_ms=8,
        prefill_per_token_ms=0.04,
        noise=0.05,
    )
    stated = EngineSettings(scheduler=scheduler, max_num_seqs=16, token_budget=2048)
    policy = "mixed" if scheduler == "chunked" else "prefill_first"
    engine = Engine(policy=policy, max_sequences=16, token_budget=2048)
    question = Question(engine=engine, prompt=PROMPT, output=OUTPUT, limits=QUESTION.limits)

    def cell(load, seed):
        return served(stated, noisy, drawn(load, PROMPT, OUTPUT, seed), load, seed)

    rows = [rows_of(cell(closed(n), n).seen(), TOKENS, policy) for n in (1, 8)]
    fit = fitted(rows, None, work=TOKENS, floor=NO_FLOOR)
    off = []
    loads = [closed(2), closed(4), closed(12)]
    loads += [Load(process="poisson", rate_per_s=r, requests=200, warm_up=20) for r in (5, 10)]
    for number, load in enumerate(loads):
        expected = predicted(fit, question, load).figures
        found = cell(load, 50 + number)
        values = {
            "ttft_p95_ms": np.percentile(found.ttft_s[load.warm_up :], 95) * 1e3,
            "tpot_p95_ms": np.percentile(found.tpot_s[load.warm_up :], 95) * 1e3,
        }
        off += [abs(expected[name].p50 / value - 1) for name, value in values.items()]

    assert np.median(off) < 0.15


@settings(max_examples=20, deadline=None)
@given(
    streams=st.lists(st.integers(1, 8), min_size=1, max_size=3, unique=True),
    noise=st.floats(0, 0.5),
)
def test_no_draw_has_a_negative_time(streams, noise) -> None:
    model = StepModel(noise=noise)
    fit = fit_of(*streams, model=model)

    for times in (fit.best, *fit.draws):
        assert min(times.constant, times.per_sequence, times.per_kv, times.prefill) >= 0
        assert times.per_flop >= 0


def test_neither_cell_nor_prior_is_an_error_and_no_number() -> None:
    with pytest.raises(ValueError, match="step times are unknown"):
        fitted([], None, work=TOKENS, floor=NO_FLOOR)


def test_a_cell_with_a_single_request_says_nothing() -> None:
    load = Load(process="closed", streams=1, requests=1)

    assert rows_of(measured(load).seen(), TOKENS, ENGINE.policy) is None


PRIOR = Prior(
    parts=({"bandwidth": 0.02}, {"sequence": 1e-4}, {"bandwidth": 1e-6}, {"step": 0.02}, {}),
    spreads={"bandwidth": 0.4, "sequence": 0.5, "step": 0.5},
    rests_on=("a guess",),
)


def test_a_prior_alone_is_drawn_from_its_spread() -> None:
    fit = fitted([], PRIOR, work=TOKENS, floor=NO_FLOOR, draws=400)

    logs = np.log([times.constant / 0.02 for times in fit.draws])
    assert fit.best.constant == pytest.approx(0.02)
    assert np.std(logs) == pytest.approx(0.4, rel=0.15)
    assert fit.cells == 0


def test_cells_outweigh_a_prior_that_is_wrong_by_a_factor_of_three() -> None:
    best = fit_of(1, 8, prior=PRIOR).best

    assert best.constant == pytest.approx(0.008, rel=0.05)


def test_far_beyond_what_was_measured_nothing_is_claimed_without_facts() -> None:
    fit = fit_of(1, 2)

    found = predicted(fit, QUESTION, closed(12))

    assert found.figures == {}
    assert found.unknown is not None
    assert "nothing is known of the device" in found.unknown
    assert predicted(fit, QUESTION, closed(3)).unknown is None


def test_an_interval_is_in_order_and_holds_its_own_middle() -> None:
    found = predicted(fit_of(1, 4), QUESTION, closed(4)).figures

    for each in found.values():
        assert each.p10 <= each.p50 <= each.p90


def test_the_capacity_is_where_the_contract_begins_to_miss() -> None:
    fit = fit_of(1, 8)
    load = Load(process="poisson", requests=120, warm_up=30)

    rate = capacity(fit, QUESTION, load, 10.0)

    assert rate is not None
    assert rate.p10 <= rate.p50 <= rate.p90
    below = Load(process="poisson", requests=120, warm_up=30, rate_per_s=rate.p50 / 2)
    above = Load(process="poisson", requests=120, warm_up=30, rate_per_s=rate.p50 * 2)
    assert predicted(fit, QUESTION, below).figures["tpot_p95_ms"].p50 < 25
    assert predicted(fit, QUESTION, above).figures["ttft_p95_ms"].p50 > 300


def test_draws_that_hold_at_no_rate_count_as_none_at_all() -> None:
    """Half of the launches that may be are too slow at any rate: no median of the others."""
    fit = fit_of(1, 8)
    slow = replace(fit.best, constant=10 * fit.best.constant)
    load = Load(process="poisson", requests=60, warm_up=10)

    def rates(too_slow):
        draws = (slow,) * too_slow + (fit.best,) * (8 - too_slow)
        return capacity(replace(fit, draws=draws), QUESTION, load, 10.0)

    assert rates(0).p10 > 0
    assert (rates(2).p10, rates(2).p50 > 0) == (0.0, True)
    assert rates(5) is None


@pytest.mark.parametrize(("streams", "alone"), [(1, 1), (3, 1), (8, 2), (2, 1)])
def test_streams_on_several_engines_do_no_more_than_so_many_streams_can(streams, alone) -> None:
    fit, four = fit_of(1, 8), replace(QUESTION, engine=replace(ENGINE, engines=4))

    whole = predicted(fit, four, closed(streams, 80)).figures["requests_per_s"].p50
    one = predicted(fit, QUESTION, closed(alone)).figures["requests_per_s"].p50

    assert whole == pytest.approx(one * streams / alone, rel=0.15)


def test_a_cap_keeps_several_engines_to_as_many_requests() -> None:
    fit, four = fit_of(1, 8), replace(QUESTION, engine=replace(ENGINE, engines=4))
    flooded = Load(process="poisson", requests=80, rate_per_s=1e3, cap=3)

    whole = predicted(fit, four, flooded).figures["requests_per_s"].p50
    one = predicted(fit, QUESTION, closed(1)).figures["requests_per_s"].p50

    assert whole == pytest.approx(3 * one, rel=0.15)


def test_a_limit_below_the_bound_has_no_capacity() -> None:
    question = Question(
        engine=ENGINE, prompt=PROMPT, output=OUTPUT, limits=Limits(ttft_s=0.001, itl_s=0.001)
    )

    load = Load(process="poisson", requests=30)
    assert capacity(fit_of(1, 8), question, load, 10.0) is None
