from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.matrix import poisson_point
from flows.search import MOST_LEVELS, TOLERANCE, Bracket, ended, next_rate, search_point
from reports.run.search_file import SearchFile, Try

RATES = st.floats(0.05, 500.0)
VERDICTS = st.sampled_from(["holds", "misses", "inconclusive", "no valid evidence"])


def tried(rate: float, verdict: str) -> Try:
    return Try.model_validate(
        {"rate_per_s": rate, "verdict": verdict, "records": f"search/{rate}.parquet"}
    )


def searched(guess: float, capacity: float, unsure: float = 0.0) -> SearchFile:
    """A whole search of a server that holds below its capacity."""
    tries: list[Try] = []
    while (rate := next_rate(guess, tries)) is not None:
        if abs(rate - capacity) < unsure * capacity:
            verdict = "inconclusive"
        else:
            verdict = "holds" if rate <= capacity else "misses"
        tries.append(tried(rate, verdict))
        assert len(tries) <= MOST_LEVELS
    return ended("B", tries)


def test_a_good_guess_is_narrowed_to_five_percent_in_four_levels() -> None:
    found = searched(guess=8.0, capacity=7.1)

    assert [each.rate_per_s for each in found.tries] == [6.0, 8.0, 7.0, 7.5]
    assert (found.highest_held, found.lowest_missed) == (7.0, 7.5)
    assert [point.name for point in found.proof] == ["poisson-7", "poisson-7.5"]
    assert found.why_ended == "the bracket is within 5% of its middle"


def test_a_server_that_holds_nothing_is_tried_lower_and_lower_until_the_bound() -> None:
    found = searched(guess=8.0, capacity=0.001)

    assert [each.rate_per_s for each in found.tries] == [6.0, 3.0, 1.5, 0.75, 0.375, 0.188]
    assert found.highest_held is None
    assert [point.name for point in found.proof] == ["poisson-0.188"]
    assert found.why_ended == "6 levels were tried"


def test_a_server_far_better_than_the_guess_is_tried_higher_until_the_bound() -> None:
    found = searched(guess=8.0, capacity=1000.0)

    assert found.lowest_missed is None
    assert len(found.tries) == MOST_LEVELS
    assert [point.name for point in found.proof] == ["poisson-25.5"]


def test_cells_that_say_neither_are_closed_in_from_both_sides() -> None:
    found = searched(guess=8.0, capacity=7.0, unsure=0.03)

    assert [each.verdict for each in found.tries] == [
        "holds",
        "misses",
        "inconclusive",
        "holds",
        "misses",
    ]
    assert (found.highest_held, found.lowest_missed) == (6.5, 7.5)
    assert found.why_ended == "the cells in between say neither"


def test_nothing_is_tried_above_a_rate_at_which_no_cell_is_valid() -> None:
    tries = [tried(6.0, "holds"), tried(8.0, "no valid evidence")]

    assert next_rate(8.0, tries) == 7.0
    tries.append(tried(7.0, "holds"))
    tries.append(tried(7.5, "holds"))
    assert next_rate(8.0, tries) is None
    assert ended("B", tries).why_ended == "from 8/s on no cell was valid"


def test_a_rate_that_holds_above_one_that_misses_is_not_believed() -> None:
    bracket = Bracket.of([tried(4.0, "holds"), tried(6.0, "misses"), tried(8.0, "holds")])

    assert (bracket.held, bracket.missed) == (4.0, 6.0)


def test_a_searched_level_has_a_name_and_so_a_seed_of_its_own() -> None:
    assert search_point(8.0, 16).name == "search-poisson-8-cap16"
    assert search_point(8.0).name != poisson_point(8.0).name


@given(guess=RATES, capacity=RATES)
def test_monotone_outcomes_give_a_bracket_around_the_capacity(
    guess: float, capacity: float
) -> None:
    found = searched(guess, capacity)

    assert found.highest_held is None or found.highest_held <= capacity
    assert found.lowest_missed is None or found.lowest_missed > capacity
    assert len(found.tries) <= MOST_LEVELS


@given(guess=RATES, ratio=st.floats(0.7, 1.2))
def test_near_the_guess_the_bracket_is_within_tolerance(guess: float, ratio: float) -> None:
    found = searched(guess, guess * ratio)

    assert found.highest_held is not None
    assert found.lowest_missed is not None
    middle = (found.highest_held + found.lowest_missed) / 2
    assert (found.lowest_missed - found.highest_held) / 2 <= TOLERANCE * middle * (1 + 1e-9)


@given(guess=RATES, verdicts=st.lists(VERDICTS, min_size=MOST_LEVELS, max_size=MOST_LEVELS))
def test_whatever_the_cells_say_the_search_ends_and_its_bracket_only_shrinks(
    guess: float, verdicts: list[str]
) -> None:
    tries: list[Try] = []
    before = Bracket.of(tries)
    for verdict in verdicts:
        rate = next_rate(guess, tries)
        if rate is None:
            break
        assert rate > 0
        assert rate not in {each.rate_per_s for each in tries}
        tries.append(tried(rate, verdict))
        after = Bracket.of(tries)
        if before.missed is not None:
            assert after.missed is not None
            assert after.missed <= before.missed
        if before.held is not None and after.held is not None and before.missed is not None:
            assert after.held >= before.held
        before = after
    assert next_rate(guess, [*tries, *[tried(1.0, "holds")] * MOST_LEVELS]) is None


@pytest.mark.parametrize("verdict", ["inconclusive", "no valid evidence"])
def test_without_a_rate_that_holds_the_next_one_is_lower(verdict: str) -> None:
    assert next_rate(8.0, [tried(6.0, verdict)]) == 3.0
