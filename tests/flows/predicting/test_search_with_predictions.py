"""A search that predicts finds an engine's known capacity, though its prediction be off."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.virtual_engine import served, verdict
from catalog.lengths import parse_lengths
from catalog.predict import (
    NO_FLOOR,
    TOKENS,
    Engine,
    Interval,
    Limits,
    Load,
    Question,
    capacity,
    fitted,
    rows_of,
)
from catalog.predict.load import drawn
from flows.rehearsal.settings import EngineSettings
from flows.rehearsal.stepmodel import StepModel
from flows.search import MOST_LEVELS, TOLERANCE, ended, next_rate
from reports.run.search_file import SearchFile, Try

MODEL = StepModel(noise=0.05)
SETTINGS = EngineSettings(max_num_seqs=4)
LIMITS = Limits(ttft_s=0.3, itl_s=0.1)
QUESTION = Question(
    engine=Engine(max_sequences=4),
    prompt=parse_lengths(16),
    output=parse_lengths(8),
    limits=LIMITS,
)
CAPACITY = MODEL.saturated_requests_per_s(concurrency=4, prompt_tokens=16, output_tokens=8)


def interval(rate: float) -> Interval:
    return Interval(p10=rate * 0.9, p50=rate, p90=rate * 1.1)


def tried(rate: float, said: str) -> Try:
    return Try.model_validate({"rate_per_s": rate, "verdict": said, "records": "-"})


def cell(load: Load, seed: int):
    requests = drawn(load, QUESTION.prompt, QUESTION.output, seed)
    return served(SETTINGS, MODEL, requests, load, seed)


def searched(seed: int) -> SearchFile:
    """A whole search of the rehearsal engine in virtual time, from a closed loop."""
    closed = Load(process="closed", streams=4, requests=120, warm_up=8)
    first = cell(closed, seed)
    guess = 120 / (first.last_s.max() - first.due_s[8:].min())
    rows = [rows_of(first.seen(), TOKENS, "mixed")]
    tries: list[Try] = []
    while True:
        fit = fitted(rows, None, work=TOKENS, floor=NO_FLOOR, draws=8)
        load = Load(process="poisson", requests=300, warm_up=50)
        rate = next_rate(guess, tries, capacity(fit, QUESTION, load, guess))
        if rate is None:
            return ended("engine", tries)
        requests = round(60 * LIMITS.ttft_s * rate)
        level = Load(process="poisson", rate_per_s=rate, requests=requests, warm_up=100)
        found = cell(level, 1000 * seed + len(tries))
        rows.append(rows_of(found.seen(), TOKENS, "mixed"))
        tries.append(tried(rate, verdict(found, level, LIMITS)))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_rehearsal_engine_s_known_capacity_is_found_within_five_percent(seed) -> None:
    found = searched(seed)

    assert found.highest_held is not None
    assert found.lowest_missed is not None
    middle = (found.highest_held + found.lowest_missed) / 2
    assert middle == pytest.approx(CAPACITY, rel=TOLERANCE)
    assert len(found.tries) <= MOST_LEVELS


def simulated(guess: float, capacity_per_s: float, error: float, noise: float, seed: int):
    """A server that holds below its capacity, but for noise; each try betters predictions."""
    rng, tries = random.Random(seed), []
    while True:
        expected = interval(capacity_per_s * (1 + error / (1 + len(tries))))
        rate = next_rate(guess, tries, expected)
        if rate is None:
            return ended("B", tries)
        tries.append(
            tried(
                rate,
                "holds" if rate < capacity_per_s * (1 + noise * rng.gauss(0, 1)) else "misses",
            )
        )
        assert len(tries) <= MOST_LEVELS


def test_a_right_prediction_needs_two_levels() -> None:
    found = simulated(guess=10.0, capacity_per_s=7.3, error=0.0, noise=0.0, seed=1)

    assert [each.rate_per_s for each in found.tries] == [6.99, 7.69]
    assert found.why_ended == "the bracket is within 5% of its middle"


@settings(max_examples=60, deadline=None)
@given(
    capacity_per_s=st.floats(0.5, 200),
    error=st.floats(-0.2, 0.2),
    noise=st.floats(0, 0.01),
    seed=st.integers(0, 1000),
)
def test_a_prediction_that_is_off_by_a_fifth_still_ends_within_five_percent(
    capacity_per_s, error, noise, seed
) -> None:
    found = simulated(capacity_per_s * 1.3, capacity_per_s, error, noise, seed)

    assert found.highest_held is not None
    assert found.lowest_missed is not None
    middle = (found.highest_held + found.lowest_missed) / 2
    assert middle == pytest.approx(capacity_per_s, rel=0.1)
    assert (found.lowest_missed - found.highest_held) / 2 <= TOLERANCE * middle * 1.001


@given(error=st.floats(-0.9, 5.0))
def test_a_wild_prediction_still_brackets_the_capacity(error) -> None:
    found = simulated(10.0, 8.0, error, 0.0, 1)

    assert found.highest_held is None or found.highest_held <= 8.0
    assert found.lowest_missed is None or found.lowest_missed >= 8.0


def test_above_a_rate_without_valid_evidence_nothing_is_tried() -> None:
    tries = [tried(6.0, "holds"), tried(8.0, "no valid evidence")]

    rate = next_rate(10.0, tries, interval(12.0))

    assert rate is not None
    assert rate < 8.0


def test_a_rate_that_was_tried_is_not_tried_again() -> None:
    tries: list[Try] = []
    while (rate := next_rate(10.0, tries, interval(7.0))) is not None:
        assert rate not in {each.rate_per_s for each in tries}
        tries.append(tried(rate, "inconclusive"))
