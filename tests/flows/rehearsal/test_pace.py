"""Noise, cold starts, new shapes and stalls of the engine's steps."""

from __future__ import annotations

import math
import random
import statistics

import pytest

from flows.rehearsal import EngineSettings, StepModel
from flows.rehearsal.pace import Pace
from flows.rehearsal.scheduler import Sequence, Step

MS = 1_000_000


def step(decodes=1, admitted=()):
    sequences = [Sequence(number=n, prompt_tokens=1, output_tokens=9) for n in range(decodes)]
    return Step(
        work=[(sequence, 1) for sequence in sequences],
        admitted=tuple(Sequence(number=n, prompt_tokens=1, output_tokens=9) for n in admitted),
        decode_sequences=decodes,
        context_tokens=0,
        prefill_tokens=0,
    )


def pace(seed=1, noise=0.0, **engine):
    model = StepModel(decode_base_ms=10, decode_per_sequence_ms=0, noise=noise)
    return Pace(model, EngineSettings(**engine), random.Random(seed), 0)


def test_without_knobs_a_step_takes_its_model_time():
    assert pace().duration_ns(step(), 0) == 10 * MS


def test_noise_is_log_normal_and_follows_the_seed():
    times = [pace_.duration_ns(step(), 0) for pace_ in [pace(noise=0.2)] for _ in range(4000)]
    again = pace(noise=0.2)

    logs = [math.log(time / (10 * MS)) for time in times]
    assert statistics.fmean(logs) == pytest.approx(0, abs=0.02)
    assert statistics.stdev(logs) == pytest.approx(0.2, rel=0.05)
    assert [again.duration_ns(step(), 0) for _ in range(100)] == times[:100]


def test_the_first_requests_start_cold():
    cold = pace(cold_requests=2, cold_ms=50)

    times = [cold.duration_ns(step(admitted=(n,)), 0) // MS for n in range(4)]
    assert times == [60, 60, 10, 10]
    assert cold.duration_ns(step(), 0) == 10 * MS


def test_each_new_batch_size_is_slow_once():
    pacing = pace(new_shape_ms=30)

    sizes = [1, 1, 2, 1, 2, 3]
    assert [pacing.duration_ns(step(n), 0) // MS for n in sizes] == [40, 10, 40, 10, 10, 40]


def test_a_stall_falls_on_the_step_that_is_running_when_it_is_due():
    pacing = pace(stall_every_s=0.1, stall_ms=40)

    assert pacing.duration_ns(step(), 80 * MS) == 10 * MS
    assert pacing.duration_ns(step(), 95 * MS) == 50 * MS
    assert pacing.duration_ns(step(), 145 * MS) == 10 * MS
    assert pacing.duration_ns(step(), 195 * MS) == 50 * MS


def test_a_step_that_begins_in_a_stall_waits_for_its_rest():
    assert pace(stall_every_s=0.1, stall_ms=40).duration_ns(step(), 115 * MS) == 35 * MS


def test_a_stall_that_passed_while_the_engine_was_idle_costs_nothing():
    assert pace(stall_every_s=0.1, stall_ms=40).duration_ns(step(), 160 * MS) == 10 * MS
