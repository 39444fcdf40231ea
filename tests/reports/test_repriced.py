"""A run is decided again at other prices, from what was measured."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from catalog.quantity import Basis
from reports.conclude import conclude
from reports.gathered import gathered
from reports.repriced import decided_at_prices, summary_at_prices, with_prices
from reports.run.plan_file import PriceFacts
from reports.run.read import file_text, read_run
from reports.summary import summary_of
from tests.reports.run.builder import NOW, QUICK, B, C, Made, build_run, priced


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    failing = Made(name="F", failures=1.0, price=1.0)
    unpriced = Made(name="U", price=None)
    folder = build_run(tmp_path_factory.mktemp("run"), (B, C, failing, unpriced), **QUICK)
    conclude(folder, now=NOW)
    return read_run(folder.path)


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    folder = build_run(tmp_path_factory.mktemp("pair"), (B, C), **QUICK)
    conclude(folder, now=NOW)
    return read_run(folder.path)


def texts(found):
    return [file_text(part) for part in (found.summary, found.checks, found.decision)]


def test_the_same_prices_give_the_runs_own_conclusion_bit_by_bit(run):
    again = decided_at_prices(run, {"B": run.plan.candidate("B").price}, NOW)

    assert texts(again) == texts(run)


@pytest.mark.parametrize(
    "prices",
    [
        {"B": priced(50.0), "C": None},
        {"F": priced(9.0), "U": priced(2.0)},
        {"B": PriceFacts(value=0.4, unit="EUR/h", basis=Basis.ASSUMPTION)},
    ],
)
def test_costs_are_those_that_the_records_give_at_these_prices(run, prices):
    plan = with_prices(run.plan, prices)
    asked_again = type(run)(run.folder)
    vars(asked_again)["plan"] = plan

    from_records = summary_of(asked_again, gathered(asked_again))

    assert file_text(summary_at_prices(run.summary, plan)) == file_text(from_records)


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(factor=st.floats(1.3, 20))
def test_a_winner_well_above_its_break_even_loses(pair, factor):
    stored = pair.decision
    flip = next(each for each in stored.flips if each.what == "price")
    even = pair.plan.candidate("B").price.value * flip.now.value / flip.flips_at.value

    above = decided_at_prices(pair, {"B": priced(even * factor)}, NOW).decision
    below = decided_at_prices(pair, {"B": priced(even / factor)}, NOW).decision

    assert (stored.chosen, above.chosen, below.chosen) == ("B", "C", "B")


def test_a_name_that_is_no_candidates_is_refused(run):
    with pytest.raises(KeyError):
        with_prices(run.plan, {"X": priced(1.0)})


def test_a_price_in_another_currency_ranks_no_cost(pair):
    euro = PriceFacts(value=3.0, unit="EUR/h", basis=Basis.ASSUMPTION, stated=True)

    decision = decided_at_prices(pair, {"B": euro}, NOW).decision

    assert "compliant tokens per machine-hour" in decision.ranked_by
