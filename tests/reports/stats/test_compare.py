"""One candidate is better only where the launches leave no other reading."""

from __future__ import annotations

from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from reports.stats.compare import (
    ACROSS_MACHINES,
    SAME_MACHINE,
    holm,
    judged_together,
    paired,
    unpaired,
)

RUNS = st.integers(2, 7)
LATENCIES = st.floats(10.0, 1000.0)


def test_a_candidate_twice_as_fast_is_better_with_three_replications():
    fast, slow = [52.0, 49.0, 50.0], [101.0, 99.0, 103.0]

    assert paired(fast, slow, better="lower").word == "better"
    assert paired(slow, fast, better="lower").word == "worse"
    assert unpaired(fast, slow, better="lower").word == "better"
    assert paired(slow, fast, better="higher").word == "better"


@pytest.mark.parametrize("cv", [0.02, 0.05, 0.08])
def test_twice_as_fast_is_called_better_by_nearly_all_campaigns_of_three(cv):
    rng = np.random.default_rng(3)
    slow = np.exp(cv * rng.standard_normal((500, 3)))
    fast = np.exp(cv * rng.standard_normal((500, 3))) / 2
    words = [
        paired(list(ours), list(theirs), better="lower").word
        for ours, theirs in zip(fast, slow, strict=True)
    ]

    assert words.count("better") >= 0.97 * len(words)


@pytest.mark.parametrize("runs", [3, 5])
@pytest.mark.parametrize("cv", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("compare", [paired, unpaired])
def test_of_equal_candidates_at_most_5_in_100_are_called_different(compare, cv, runs):
    rng = np.random.default_rng([runs, int(100 * cv)])
    ours, theirs = np.exp(cv * rng.standard_normal((2, 1500, runs)))
    words = [
        compare(list(one), list(other), better="lower").word
        for one, other in zip(ours, theirs, strict=True)
    ]

    assert 1 - words.count("no difference shown") / len(words) <= 0.05


def test_candidates_that_differ_by_the_margin_alone_are_called_different_5_times_in_100():
    rng = np.random.default_rng(8)
    theirs = np.exp(0.02 * rng.standard_normal((4000, 3)))
    ours = np.exp(0.02 * rng.standard_normal((4000, 3)) + SAME_MACHINE)
    words = [
        paired(list(one), list(other), better="higher").word
        for one, other in zip(ours, theirs, strict=True)
    ]

    assert words.count("better") / len(words) == pytest.approx(0.025, abs=0.008)


def test_of_a_family_of_equal_candidates_at_most_5_in_100_hold_a_different_one():
    rng = np.random.default_rng(9)
    alarms = 0
    for _ in range(500):
        leader, *rest = np.exp(0.3 * rng.standard_normal((5, 5))).tolist()
        family = {str(i): paired(each, leader, better="lower") for i, each in enumerate(rest)}
        judged = judged_together(family)
        alarms += any(each.word != "no difference shown" for each in judged.values())

    assert alarms / 500 <= 0.05


@pytest.mark.parametrize("runs", [2, 3, 5])
@pytest.mark.parametrize("compare", [paired, unpaired])
def test_95_of_100_intervals_hold_the_true_ratio(compare, runs):
    rng = np.random.default_rng(runs)
    theirs = np.exp(0.1 * rng.standard_normal((1500, runs)))
    ours = 1.3 * np.exp(0.1 * rng.standard_normal((1500, runs)))
    found = [
        compare(list(one), list(other), better="lower")
        for one, other in zip(ours, theirs, strict=True)
    ]
    covered = np.mean([each.low <= 1.3 <= each.high for each in found])

    assert 0.935 <= covered <= (0.965 if compare is paired else 1.0)


def test_a_shared_disturbance_of_a_replication_cancels_in_pairs_only():
    day = [1.0, 1.4, 0.7, 1.2]
    noise = [1.0, 1.01, 0.99, 1.005]
    slow = [100 * each for each in day]
    fast = [90 * each * jitter for each, jitter in zip(day, noise, strict=True)]

    assert paired(fast, slow, better="lower").word == "better"
    assert unpaired(fast, slow, better="lower").word == "no difference shown"


def test_the_margin_across_machines_is_wider():
    slow = [100.0, 101, 99, 100.5, 99.5]
    fast = [value * 0.96 for value in slow]

    assert paired(fast, slow, better="lower", margin=SAME_MACHINE).word == "better"
    across = paired(fast, slow, better="lower", margin=ACROSS_MACHINES)
    assert across.word == "no difference shown"


def test_interval_and_p_value_are_those_of_a_t_test_against_the_margin():
    ours, theirs = [90.0, 92, 89, 91], [100.0, 101, 99, 103]
    found = paired(ours, theirs, better="lower")
    logs = np.log(ours) - np.log(theirs)
    expected = stats.ttest_1samp(logs, -SAME_MACHINE)
    low, high = stats.ttest_1samp(logs, 0).confidence_interval(0.95)

    assert found.p_value == pytest.approx(expected.pvalue)
    assert (found.low, found.high) == pytest.approx((exp(low), exp(high)))
    assert found.ratio == pytest.approx(exp(logs.mean()))


def test_the_unpaired_interval_is_welchs():
    ours, theirs = [90.0, 92, 89, 91], [100.0, 101, 99, 103, 108]
    found = unpaired(ours, theirs, better="lower")
    expected = stats.ttest_ind(np.log(ours), np.log(theirs), equal_var=False)
    low, high = expected.confidence_interval(0.95)

    assert (log(found.low), log(found.high)) == pytest.approx((low, high))
    assert found.n_runs == (4, 5)


@given(data=st.data(), runs=RUNS, better=st.sampled_from(["lower", "higher"]))
def test_exchanging_the_candidates_exchanges_the_words(data, runs, better):
    ours = data.draw(st.lists(LATENCIES, min_size=runs, max_size=runs))
    theirs = data.draw(st.lists(LATENCIES, min_size=runs, max_size=runs))
    forth, back = paired(ours, theirs, better=better), paired(theirs, ours, better=better)
    mirrored = {"better": "worse", "worse": "better"}

    assert back.word == mirrored.get(forth.word, forth.word)
    assert back.p_value == pytest.approx(forth.p_value)


@given(data=st.data(), runs=RUNS, more=st.floats(1.0, 20.0))
def test_more_noise_never_turns_no_difference_into_a_difference(data, runs, more):
    noise = np.array(
        data.draw(st.lists(st.floats(-0.2, 0.2), min_size=runs, max_size=runs)), float
    )
    shift = data.draw(st.floats(-1.0, 1.0))
    noise -= noise.mean()
    reference = [100.0] * runs
    calm = paired(list(100 * np.exp(shift + noise)), reference, better="lower")
    wild = paired(list(100 * np.exp(shift + more * noise)), reference, better="lower")

    assert wild.word in (calm.word, "no difference shown")
    assert wild.p_value >= calm.p_value - 1e-9


@given(data=st.data(), runs=RUNS)
def test_word_and_p_value_agree(data, runs):
    ours = data.draw(st.lists(LATENCIES, min_size=runs, max_size=runs))
    theirs = data.draw(st.lists(LATENCIES, min_size=runs, max_size=runs))
    found = paired(ours, theirs, better="lower")

    if abs(found.p_value - 0.05) > 1e-9:
        assert (found.word == "no difference shown") == (found.p_value > 0.05)


@pytest.mark.parametrize("compare", [paired, unpaired])
@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([50.0, None, 51.0], "a launch without a value"),
        ([50.0, inf, 51.0], "a launch whose value lies beyond the failures"),
        ([50.0, 0.0, 51.0], "a value that is not positive"),
    ],
)
def test_a_launch_that_failed_is_never_left_out(compare, values, why):
    reference = [100.0, 101.0, 102.0]
    for one, other in ((values, reference), (reference, values)):
        found = compare(one, other, better="lower")

        assert (found.word, found.why) == ("no difference shown", why)
        assert (found.ratio, found.low, found.high, found.p_value) == (None,) * 4


def test_one_launch_each_shows_no_difference():
    found = paired([1.0], [100.0], better="lower")

    assert (found.word, found.why) == ("no difference shown", "fewer than two launches")


def test_lists_of_different_length_are_no_pairs():
    with pytest.raises(ValueError, match="2 replications against 3"):
        paired([1.0, 2.0], [1.0, 2.0, 3.0], better="lower")


def test_three_replications_say_why_no_rank_test_is_shown():
    found = paired([50.0, 51, 52], [100.0, 101, 102], better="lower")

    assert found.ranks.p_value is None
    assert found.ranks.why == "so few launches reach p = 0.250 at best, not 0.05"


# As R's p.adjust(c(0.01, 0.02, 0.03, 0.04, 0.05), "holm") prints them.
def test_holm_adjusts_as_r_does():
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx((0.05, 0.08, 0.09, 0.09, 0.09))
    assert holm([0.04, 0.01, 0.03, 0.005]) == pytest.approx((0.06, 0.03, 0.06, 0.02))


def test_a_comparison_that_could_not_be_made_counts_in_the_family():
    assert holm([0.02, None]) == (pytest.approx(0.04), None)
    assert holm([]) == ()


@given(p_values=st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_a_p_value_and_keeps_their_order(p_values):
    adjusted = holm(p_values)

    assert all(after >= before for before, after in zip(p_values, adjusted, strict=True))
    order = np.argsort(p_values, kind="stable")
    assert list(np.array(adjusted)[order]) == sorted(adjusted)


def test_a_family_takes_back_a_word_that_one_comparison_alone_would_have_kept():
    reference = [100.0, 101.0, 99.0]
    lucky = paired([94.0, 95.5, 92.0], reference, better="lower")
    family = judged_together(
        {
            "lucky": lucky,
            **{str(i): paired(reference, reference, better="lower") for i in range(8)},
        }
    )

    assert lucky.word == "better"
    assert family["lucky"].word == "no difference shown"
    assert family["lucky"].p_adjusted == pytest.approx(9 * lucky.p_value)


def test_a_family_of_one_changes_nothing_but_the_adjusted_p_value():
    alone = paired([50.0, 51, 52], [100.0, 101, 102], better="lower")
    judged = judged_together({"B": alone})["B"]

    assert (judged.word, judged.p_adjusted) == ("better", alone.p_value)
