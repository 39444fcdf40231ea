"""A loss paired by question: noise fails nobody, few questions prove nothing."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.quality.paired import excess, loss, mcnemar, needed

MARGIN = 0.01


@cache
def verdict(questions: int, lost: int, gained: int) -> str:
    differences = [1] * lost + [-1] * gained + [0] * (questions - lost - gained)
    return loss(differences).verdict(MARGIN)


def verdicts(questions: int, true_loss: float, differing: float) -> dict[str, float]:
    """Shares of verdicts over 2,000 simulated comparisons."""
    rng = np.random.default_rng(11)
    lost, gained = (differing + true_loss) / 2, (differing - true_loss) / 2
    drawn = rng.multinomial(questions, [lost, gained, 1 - lost - gained], size=2000)
    found = [verdict(questions, int(a), int(b)) for a, b, _ in drawn]
    return {word: found.count(word) / len(found) for word in ("holds", "misses")}


@pytest.mark.parametrize("questions", [100, 300, 1000, 2000])
@pytest.mark.parametrize("differing", [0.01, 0.02, 0.05, 0.1, 0.3])
def test_a_loss_of_the_whole_margin_passes_in_at_most_7_percent(questions, differing):
    assert verdicts(questions, MARGIN, differing)["holds"] <= 0.07


@pytest.mark.parametrize("questions", [100, 300, 1000, 2000])
@pytest.mark.parametrize("differing", [0.01, 0.02, 0.05, 0.1, 0.3])
def test_noise_without_a_loss_fails_in_at_most_5_percent(questions, differing):
    assert verdicts(questions, 0, differing)["misses"] <= 0.05


@pytest.mark.parametrize(
    ("questions", "differing", "power"),
    [(1000, 0.02, 0.7), (2000, 0.02, 0.95), (14000, 0.1, 0.97)],
)
def test_a_loss_of_two_margins_is_found_with_the_stated_power(questions, differing, power):
    assert verdicts(questions, 2 * MARGIN, differing)["misses"] >= power


@pytest.mark.parametrize("differing", [0.005, 0.01, 0.02, 0.05])
def test_as_many_questions_as_are_said_to_be_needed_prove_no_loss_most_of_the_time(differing):
    enough = needed(MARGIN, differing)

    assert verdicts(enough, 0, differing)["holds"] >= 0.78
    assert verdicts(enough // 4, 0, differing)["holds"] <= 0.45


@pytest.mark.parametrize("questions", [200, 240, 1000])
@pytest.mark.parametrize("differing", [0, 0.005, 0.02, 0.1])
def test_a_detectable_loss_on_top_of_the_noise_shows_in_80_percent(questions, differing):
    rng = np.random.default_rng(12)
    noise = round(questions * differing / 2)
    plain = loss([1] * noise + [-1] * noise + [0] * (questions - 2 * noise))
    shares = [differing / 2 + plain.detectable, differing / 2]

    drawn = rng.multinomial(questions, [*shares, 1 - sum(shares)], size=1000)

    shown = [
        loss([1] * int(a) + [-1] * int(b) + [0] * (questions - int(a) - int(b))).low > 0
        for a, b, _ in drawn
    ]
    assert np.mean(shown) >= 0.77


def test_a_proven_loss_is_no_noise_in_which_another_would_be_lost():
    assert loss([1] * 236 + [0] * 4).detectable < 0.06


@pytest.mark.parametrize("nats", [0.1, 0.5, 1.0, 3.0])
def test_rare_large_divergences_of_the_whole_limit_seldom_pass(nats):
    rng = np.random.default_rng(13)

    drawn = [(rng.random(240) < 0.05 / nats) * nats for _ in range(1000)]

    assert np.mean([excess(each).high <= 0.05 for each in drawn]) <= 0.07


def test_an_excess_without_spread_detects_nothing_that_could_be_named():
    found = excess([0.0] * 200)

    assert (found.mean, found.high, found.detectable) == (0, 0, None)


def test_equal_answers_to_few_questions_prove_nothing():
    assert verdict(298, 0, 0) == "inconclusive"
    assert verdict(299, 0, 0) == "holds"
    assert loss([]).verdict(MARGIN) == loss([0.0]).verdict(MARGIN) == "inconclusive"


def test_golden_limits():
    found = loss([1] * 30 + [-1] * 10 + [0] * 960)

    assert found.mean == pytest.approx(0.02)
    assert found.high == pytest.approx(0.03047224, abs=1e-8)
    assert found.low == pytest.approx(0.00963439, abs=1e-8)
    assert found.detectable == pytest.approx(0.01715325, abs=1e-8)
    assert mcnemar([1] * 30 + [-1] * 10) == pytest.approx(0.0022214, abs=1e-7)
    assert mcnemar([0, 0]) is None


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.25, 1.0]), min_size=2, max_size=60))
def test_limits_enclose_the_mean_and_turn_around_with_the_sides(differences):
    found, turned = loss(differences), loss([-each for each in differences])

    assert found.low <= found.mean <= found.high
    assert found.high == pytest.approx(-turned.low)
    assert found.detectable > 0


@given(st.lists(st.floats(-3, 3), min_size=2, max_size=40))
def test_an_excess_in_nats_is_inside_its_limits(values):
    found = excess(values)

    assert found.low <= found.mean + 1e-12
    assert found.mean <= found.high + 1e-12
