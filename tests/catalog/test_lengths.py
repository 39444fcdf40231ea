"""Length distributions: what a contract states, and the tokens that follow from it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catalog.lengths import parse_lengths

forms = st.one_of(
    st.integers(1, 100_000).map(str),
    st.tuples(st.integers(1, 500), st.integers(0, 5000)).map(
        lambda t: f"uniform:{t[0]}:{sum(t)}"
    ),
    st.tuples(st.integers(1, 3000), st.integers(1, 900), st.integers(0, 9000)).map(
        lambda t: f"normal:{t[0]}:{t[1]}:{t[0] + t[2]}"
    ),
    st.tuples(st.integers(1, 3000), st.floats(0.05, 2), st.integers(0, 9000)).map(
        lambda t: f"lognormal:{t[0]}:{t[1]:.3f}:{t[0] + t[2]}"
    ),
)


def test_a_fixed_length_is_every_quantile_and_its_mean():
    lengths = parse_lengths(1024)

    assert {lengths.quantile(share) for share in (0, 0.5, 0.95, 1)} == {1024}
    assert lengths.mean() == 1024


def test_the_95th_percentile_of_a_normal_prompt_is_1_645_deviations_above_its_mean():
    lengths = parse_lengths("normal:1024:64:4096")

    assert lengths.quantile(0.95) == 1129  # 1024 + 1.6449 · 64
    assert lengths.mean() == pytest.approx(1024, abs=0.1)


def test_the_median_of_a_lognormal_is_its_first_number():
    assert parse_lengths("lognormal:1000:0.5:100000").quantile(0.5) == 1000


def test_a_uniform_length_has_its_two_bounds_and_their_middle():
    lengths = parse_lengths("uniform:256:2048")

    assert (lengths.quantile(0), lengths.quantile(1)) == (256, 2048)
    assert lengths.mean() == pytest.approx(1152, abs=0.5)


def test_each_value_of_a_narrow_uniform_is_equally_likely():
    lengths = parse_lengths("uniform:1:4")
    drawn = [lengths.quantile((step + 0.5) / 4000) for step in range(4000)]

    assert [drawn.count(value) for value in (1, 2, 3, 4)] == [1000, 1000, 1000, 1000]


def test_an_empirical_distribution_returns_only_lengths_that_were_seen():
    lengths = parse_lengths("file:seen.txt", values=(300, 100, 200))

    assert {lengths.quantile(share / 100) for share in range(101)} == {100, 200, 300}
    assert lengths.mean() == 200


@given(forms, st.floats(0, 1), st.floats(0, 1))
def test_quantiles_are_monotone_and_stay_within_the_stated_bounds(text, first, second):
    lengths = parse_lengths(text)
    low, high = sorted((first, second))

    assert lengths.minimum <= lengths.quantile(low) <= lengths.quantile(high) <= lengths.maximum


@given(forms)
def test_the_mean_lies_between_minimum_and_maximum(text):
    lengths = parse_lengths(text)

    assert lengths.minimum <= lengths.mean() <= lengths.maximum


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("normal:1024:64", "no maximum"),
        ("lognormal:1024:0.5", "no maximum"),
        ("normal:1024", "three numbers"),
        ("normal:1024:0:2048", "spread above 0"),
        ("normal:1024:64:512", "maximum above the centre"),
        ("normal:-5:64:512", "not a number of tokens"),
        ("uniform:5:2", "wrong way round"),
        ("uniform:5", "two bounds"),
        ("uniform:0:5", "below one token"),
        ("zipf:2", "not a length distribution"),
        ("", "not a length distribution"),
        ("file:empty.txt", "gave no lengths"),
        (0, "below one token"),
        (-3, "below one token"),
        (1.5, "not a length"),
        (True, "not a length"),
        (None, "not a length"),
    ],
)
def test_a_length_that_means_nothing_is_refused_with_the_form_to_use(text, says):
    with pytest.raises(ValueError, match=says):
        parse_lengths(text)
