"""A candidate's figures at a load, from P10 to P90, by simulating its engine with each draw."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from catalog.lengths import Lengths
from catalog.predict.engine import Engine, Noise, run
from catalog.predict.fit import Fitted
from catalog.predict.load import Load, drawn
from catalog.predict.outcome import Limits, figures, keeps
from catalog.predict.steps import StepTimes

_PERCENTS: Final = (10, 50, 90)
_TOTALS: Final = frozenset({"requests_per_s", "output_tokens_per_s"})
_SEED: Final = 1_000_003
_BEYOND: Final = 2.0  # times the streams that were seen, without facts to go further


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """The 10th percentile, median and 90th percentile of a prediction."""

    p10: float
    p50: float
    p90: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Interval:
        """Percentiles of equally likely values."""
        low, middle, high = np.percentile(np.array(values), _PERCENTS).tolist()
        return cls(p10=low, p50=middle, p90=high)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked of a candidate's engine: its lengths and the contract's limits."""

    engine: Engine
    prompt: Lengths
    output: Lengths
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Predicted:
    """Figures by name; ``unknown`` says why there are none."""

    figures: Mapping[str, Interval]
    unknown: str | None = None


def predicted(fit: Fitted, question: Question, load: Load, *, seed: int = 0) -> Predicted:
    """What a cell at this load will show.

    Each draw is a launch that may be, with arrivals of its own; the same seed gives the same
    figures.
    """
    if not fit.has_prior:
        beyond = _beyond(fit, question, load, seed)
        if beyond is not None:
            return Predicted(figures={}, unknown=beyond)
    by_name: dict[str, list[float]] = {}
    for number, times in enumerate(fit.draws):
        found = one_cell(times, question, load, fit, seed=seed * _SEED + number)
        for name, value in found.items():
            by_name.setdefault(name, []).append(value)
    return Predicted(figures={name: Interval.of(each) for name, each in by_name.items()})


def one_cell(
    times: StepTimes, question: Question, load: Load, fit: Fitted, *, seed: int
) -> Mapping[str, float]:
    """Figures of one simulated cell of all the candidate's engines together.

    ``times`` are one draw of the fit's, which says how steps differ from it.
    """
    engines = question.engine.engines
    share = per_engine(load, engines)
    requests = drawn(share, question.prompt, question.output, seed)
    order = random.Random(seed)  # noqa: S311 - a simulation
    course = run(
        question.engine,
        times,
        requests,
        most_in_flight=share.most_in_flight,
        is_closed=share.process == "closed",
        noise=Noise(
            prefill=order.choices(fit.first, k=share.count),
            decode=order.choices(fit.decode, k=share.count),
        ),
    )
    found = figures(course, requests, share, question.limits, fit.jitter)
    closed = share.process == "closed"
    parts = load.streams / share.streams if closed else _busy(load, engines)
    return {name: value * parts if name in _TOTALS else value for name, value in found.items()}


def per_engine(load: Load, engines: int) -> Load:
    """The part of a load that the busiest of several engines gets."""
    engines = _busy(load, engines)
    if engines == 1:
        return load
    return Load(
        process=load.process,
        requests=max(1, load.requests // engines),
        warm_up=load.warm_up // engines,
        streams=-(-load.streams // engines),
        rate_per_s=None if load.rate_per_s is None else load.rate_per_s / engines,
        cap=None if load.cap is None else load.cap // engines,
        burstiness=load.burstiness,
    )


def _busy(load: Load, engines: int) -> int:
    """Engines that can work at once: no more than requests in flight."""
    return engines if load.most_in_flight is None else min(engines, load.most_in_flight)


def holds(times: StepTimes, question: Question, load: Load, fit: Fitted, *, seed: int) -> bool:
    """Whether one simulated cell keeps every clause of the contract."""
    return keeps(one_cell(times, question, load, fit, seed=seed), question.limits)


def _beyond(fit: Fitted, question: Question, load: Load, seed: int) -> str | None:
    """Why measured cells do not reach so far as this load; None where they do."""
    share = per_engine(load, question.engine.engines)
    requests = drawn(share, question.prompt, question.output, seed)
    course = run(
        question.engine,
        fit.best,
        requests,
        most_in_flight=share.most_in_flight,
        is_closed=share.process == "closed",
    )
    if course.peak_sequences <= _BEYOND * fit.streams:
        return None
    return (
        f"{course.peak_sequences} streams at once, measured were {fit.streams:g} at most, and "
        "nothing is known of the device"
    )
