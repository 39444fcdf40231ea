"""How often a re-evaluation is wrong: of what did not change, and of what did.

Five launches each, which is the default; a launch is lucky or not in all of its figures. All of
the answer is made anew from them: the decision, the champion against the control, and the
control against the baseline.
"""

from __future__ import annotations

from collections import Counter
from math import exp

import numpy as np
import pytest

from reports.decide import decide
from reports.decide.standing import contenders
from reports.reevaluate.answer import Question, answered
from reports.reevaluate.watched import figures_of, paired_now, since_then
from reports.run.baseline_file import Baseline
from reports.run.read import Run, read_run
from reports.run.summary_file import CandidateSummary, CellSummary, Summary
from tests.reports.reevaluate.again import (
    CONTROL,
    answer_of,
    baseline_run,
    begun,
    control,
    newer,
    pin,
)
from tests.reports.run.builder import NOW, C

COUNT = 100


@pytest.fixture(scope="module")
def week(tmp_path_factory) -> tuple[Run, Baseline]:
    """A re-evaluation whose control and champion are exactly what the baseline was."""
    pinned = pin(baseline_run(tmp_path_factory.mktemp("pinned")))
    made = (control(noise=0.0), newer(noise=0.0), C)
    folder = begun(tmp_path_factory.mktemp("again"), pinned, made, replications=5)
    answer_of(folder)
    return read_run(folder.path), pinned


def slower(name: str, value: float, ratio: float) -> float:
    """A figure of a launch that takes ``ratio`` times as long."""
    is_time = name.endswith("_ms") or name.startswith("usd_")
    return value * ratio if is_time else value / ratio


def noisy(found: CellSummary, rng: np.random.Generator, cv: float, ratio: float) -> CellSummary:
    launches = []
    for each in found.replications:
        luck = ratio * exp(rng.normal(0, cv))
        figures = {
            name: value if value is None else slower(name, value, luck)
            for name, value in each.figures.items()
        }
        launches.append(each.model_copy(update={"figures": figures}))
    return found.model_copy(update={"replications": tuple(launches)})


def drawn(
    summary: Summary, rng: np.random.Generator, cv: float, ratios: dict[str, float]
) -> Summary:
    def of(each: CandidateSummary) -> CandidateSummary:
        ratio = ratios.get(each.name, 1.0)
        cells = tuple(noisy(cell, rng, cv, ratio) for cell in each.cells)
        return each.model_copy(update={"cells": cells})

    return summary.model_copy(update={"candidates": tuple(map(of, summary.candidates))})


def answers(week: tuple[Run, Baseline], cv: float, **ratios: float) -> Counter[str]:
    """How often each answer is given; ``ratios`` say who takes how many times as long."""
    run, baseline = week
    plan, checks = run.plan, run.checks
    found: Counter[str] = Counter()
    for seed in range(COUNT):
        rng = np.random.default_rng(seed)
        then = contenders(plan, drawn(run.summary, rng, cv, {}), checks)
        figures = figures_of(next(each for each in then if each.name == CONTROL))
        before = baseline.model_copy(
            update={
                "candidates": tuple(
                    each.model_copy(update={"figures": figures})
                    if each.name == baseline.winner
                    else each
                    for each in baseline.candidates
                )
            }
        )
        summary = drawn(
            run.summary, rng, cv, {name.replace("_", "-"): r for name, r in ratios.items()}
        )
        everybody = contenders(plan, summary, checks)
        by_name = {each.name: each for each in everybody}
        decision = decide(plan, summary, checks, NOW)
        question = Question(
            baseline=before,
            everybody=everybody,
            decision=decision,
            at_old_prices=decision,
            versions=paired_now(by_name["B"], by_name[CONTROL], plan.contract),
            since=since_then(before, by_name[CONTROL]),
        )
        found[answered(question).answer] += 1
    return found


@pytest.mark.parametrize("cv", [0.01, 0.03])
def test_where_nothing_changed_19_of_20_answers_are_still_valid(week, cv) -> None:
    assert answers(week, cv)["still valid"] >= 0.95 * COUNT


@pytest.mark.parametrize("cv", [0.01, 0.02])
def test_a_release_that_takes_a_tenth_longer_is_found(week, cv) -> None:
    assert answers(week, cv, B=1.10)["regression"] >= 0.9 * COUNT


def test_a_configuration_that_takes_a_fifth_longer_than_it_did_is_found(week) -> None:
    """Across two days the margin is wider, so what is shown must be larger."""
    found = answers(week, 0.01, B=1.2, B_baseline=1.2)

    assert found["regression"] + found["decision changed"] >= 0.95 * COUNT
