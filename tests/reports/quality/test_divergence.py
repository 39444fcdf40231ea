"""A divergence from top lists is a lower bound of the whole one, and sees what matters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reports.quality.divergence import lead, listed_mass, truncated_kl


def top(shares: np.ndarray, count: int) -> dict[str, float]:
    order = np.argsort(-shares, kind="stable")[:count]
    return {str(token): float(np.log(shares[token])) for token in order}


def whole(ours: np.ndarray, theirs: np.ndarray) -> float:
    return float((ours * np.log(ours / theirs)).sum())


def drawn(seed: int, tokens: int, sharpness: float) -> np.ndarray:
    logits = np.random.default_rng(seed).normal(0, sharpness, tokens)
    shares = np.exp(logits - logits.max())
    return shares / shares.sum()


@given(
    seed=st.integers(0, 10_000),
    tokens=st.integers(3, 60),
    listed=st.tuples(st.integers(1, 25), st.integers(1, 25)),
    sharp=st.tuples(st.floats(0.01, 8), st.floats(0.01, 8)),
)
def test_it_is_never_above_the_divergence_of_the_whole_distributions(
    seed, tokens, listed, sharp
):
    ours, theirs = drawn(seed, tokens, sharp[0]), drawn(seed + 1, tokens, sharp[1])

    found = truncated_kl(top(ours, listed[0]), top(theirs, listed[1]))

    assert 0 <= found <= whole(ours, theirs) + 1e-5


def test_of_whole_lists_it_is_the_divergence_itself():
    ours, theirs = drawn(1, 8, 2), drawn(2, 8, 2)

    assert truncated_kl(top(ours, 8), top(theirs, 8)) == pytest.approx(
        whole(ours, theirs), abs=1e-5
    )


def test_golden_values_in_nats():
    half = {"a": np.log(0.5), "b": np.log(0.5)}
    tilted = {"a": np.log(0.9), "b": np.log(0.1)}

    assert truncated_kl(half, half) == 0
    assert truncated_kl(half, tilted) == pytest.approx(0.5108256238, abs=1e-9)
    assert truncated_kl(tilted, half) == pytest.approx(0.3680642072, abs=1e-9)


def test_lists_without_a_common_token_do_not_hide_the_difference():
    ours = {"a": np.log(0.9), "b": np.log(0.05)}
    theirs = {"x": np.log(0.9), "y": np.log(0.05)}

    # what the candidate can have given to a and b together is at most its 0.05 outside
    assert truncated_kl(ours, theirs) == pytest.approx(
        0.95 * np.log(0.95 / 0.05) + 0.05 * np.log(0.05 / 0.95), abs=1e-9
    )


def test_what_a_list_holds_and_by_how_much_its_first_leads():
    found = {"a": np.log(0.6), "b": np.log(0.3)}

    assert listed_mass(found) == pytest.approx(0.9)
    assert lead(found) == pytest.approx(np.log(2))
    assert lead({"a": 0.0}) == float("inf")


def test_a_list_of_one_leads_by_no_more_than_is_left_for_the_others():
    assert lead({"a": np.log(0.5)}) == pytest.approx(0)
    assert lead({"a": np.log(0.9)}) == pytest.approx(np.log(9))
