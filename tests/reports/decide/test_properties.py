"""What no campaign can change: properties of the decision over many fields of candidates."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from reports.decide.crossover import crossover_rate
from tests.reports.decide.fields import Runner, decided, noisy

SEEDS = st.integers(0, 2**32 - 1)


@st.composite
def fields(draw, least=1):
    """Complying candidates of unlike speeds, prices and devices, on one host."""
    rng = np.random.default_rng(draw(SEEDS))
    count = draw(st.integers(least, 4))
    cv = draw(st.sampled_from([0.001, 0.01, 0.05]))
    return [
        Runner(
            name=name,
            tokens=noisy(1000 * draw(st.floats(0.8, 1.25)), cv, 3, rng),
            price=draw(st.sampled_from([1.0, 1.1, 2.0])),
            devices=draw(st.sampled_from([1, 2])),
        )
        for name in "bcde"[:count]
    ]


@given(field=fields(), seed=SEEDS, place=st.integers(0, 4))
def test_adding_a_candidate_that_misses_never_changes_the_decision(field, seed, place):
    misser = Runner(
        name="a",
        tokens=noisy(9000, 0.01, 3, np.random.default_rng(seed)),
        price=0.1,
        verdict="misses",
    )
    before, after = decided(field), decided([*field[:place], misser, *field[place:]])

    assert (after.outcome, after.winner) == (before.outcome, before.winner)


@given(field=fields(), incumbent=st.booleans(), slower=st.floats(0.5, 0.999))
def test_adding_a_dominated_candidate_never_changes_the_winner(field, incumbent, slower):
    """It is slower in every launch, and has no fewer devices and no lower price."""
    named = {"incumbent": field[0].name} if incumbent else {}
    before = decided(field, **named)
    winner = next(each for each in field if each.name == before.winner)
    dominated = replace(winner, name="z", tokens=[value * slower for value in winner.tokens])

    after = decided([*field, dominated], **named)

    assert after.winner == before.winner


@given(field=fields(least=2), seed=SEEDS)
def test_a_candidate_far_behind_does_not_even_weaken_the_finding(field, seed):
    far = Runner(
        name="z", tokens=noisy(20, 0.01, 3, np.random.default_rng(seed)), price=2.0, devices=2
    )
    before, after = decided(field), decided([*field, far])

    assert (after.outcome, after.winner) == (before.outcome, before.winner)


@given(seed=SEEDS, factor=st.floats(1.01, 20), lead=st.floats(0.9, 1.3))
def test_more_noise_never_turns_no_difference_into_better(seed, factor, lead):
    rng = np.random.default_rng(seed)
    logs = rng.standard_normal((2, 4)) * 0.02
    logs -= logs.mean(axis=1, keepdims=True)

    def outcome(scale):
        tokens = 1000 * np.exp(scale * logs) * np.array([[1.0], [lead]])
        return decided(
            [
                Runner(name=name, tokens=of_launch.tolist())
                for name, of_launch in zip("ab", tokens, strict=True)
            ]
        ).outcome

    if outcome(1.0) == "no difference shown":
        assert outcome(factor) == "no difference shown"


@given(field=fields(least=2), order=st.randoms(use_true_random=False))
def test_the_order_in_the_file_never_matters(field, order):
    shuffled = list(field)
    order.shuffle(shuffled)

    assert decided(shuffled) == decided(field)


@given(field=fields(least=2), factor=st.sampled_from([0.01, 0.5, 3.0, 100.0]))
@settings(max_examples=50)
def test_another_unit_of_money_decides_the_same(field, factor):
    scaled = [replace(each, price=each.price * factor) for each in field]
    before, after = decided(field), decided(scaled)

    assert (after.outcome, after.winner) == (before.outcome, before.winner)
    assert [row.ratio.value for row in after.comparisons] == [
        value if value is None else pytest.approx(value, rel=1e-9)
        for value in (row.ratio.value for row in before.comparisons)
    ]


@given(
    prices=st.tuples(st.floats(0.1, 50), st.floats(0.1, 50)),
    held=st.tuples(st.floats(0.5, 50), st.floats(0.5, 50)),
)
def test_above_the_crossover_the_other_fleet_is_cheaper_and_below_it_is_not(prices, held):
    rate = crossover_rate(prices[0], held[0], prices[1], held[1])
    assume(rate is not None)

    def costs(load):
        return [
            max(1, int(np.ceil(load / each))) * price
            for price, each in zip(prices, held, strict=True)
        ]

    ours, theirs = costs(rate + 1e-6)
    assert theirs < ours
    for instances in range(round(rate / held[0])):
        ours, theirs = costs(instances * held[0] + 1e-6)
        assert ours <= theirs
