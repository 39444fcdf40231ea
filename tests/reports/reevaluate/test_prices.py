"""A stored decision held against prices of today: from its own figures, and never signed."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import replace

import jsonschema
import pytest

from catalog.quantity import Basis
from reports.errors import ReportsError
from reports.manifest import manifest_sha256, verify
from reports.reevaluate.pin import origin_of
from reports.reevaluate.prices import Today, at_todays_prices
from reports.run.plan_file import PriceFacts
from reports.run.read import Run, file_text, read_run
from reports.schemas import result_schema
from tests.reports.reevaluate.again import (
    CONTROL,
    answer_of,
    baseline_run,
    begun,
    control,
    newer,
    pin,
)
from tests.reports.run.builder import CONTRACT, C, priced

RULES = {"switch_if_saves": 0.1, "commitments": ("on-demand",)}
LATER = dt.datetime(2026, 9, 22, 12, 0, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def run(tmp_path_factory) -> Run:
    return read_run(baseline_run(tmp_path_factory.mktemp("pinned")).path)


def held(run: Run, contract=None, **prices: float | PriceFacts | None):
    """The answer at prices by candidate, in USD per hour."""
    facts = {
        name: priced(value, date="2026-09-20", commitment="on-demand")
        if isinstance(value, float)
        else value
        for name, value in prices.items()
    }
    today = Today(contract=contract or run.plan.contract, prices=facts, rules=RULES)
    return at_todays_prices(run, today, LATER, manifest_sha256=manifest_sha256(run.folder))


def test_the_same_prices_leave_the_decision_and_nothing_is_written(run) -> None:
    answer = held(run, B=3.67, C=7.34)

    assert (answer.answer, answer.exit_code) == ("still valid", 0)
    assert (answer.kind, answer.stamp) == ("prices only", "PRICES ONLY")
    assert answer.changes == ()
    assert "Never signed" in answer.notes[0]
    assert verify(run.folder) == ()


def test_a_cheap_rival_takes_the_decision_by_price(run) -> None:
    answer = held(run, B=3.67, C=1.0)

    assert (answer.answer, answer.exit_code, answer.winner_now) == ("decision changed", 6, "C")
    assert [each.kind for each in answer.reasons] == ["price"]
    assert [(each.candidate, each.before, each.now) for each in answer.changes] == [
        ("C", "7.34 USD/h, on-demand", "1 USD/h, on-demand")
    ]


def test_a_rival_that_saves_too_little_does_not_take_it(run) -> None:
    """The winner is the incumbent: a switch must save a tenth."""
    ratio = 0.95 * _cost(run, "B") / _cost(run, "C")

    assert held(run, B=3.67, C=7.34 * ratio).answer == "still valid"
    assert held(run, B=3.67, C=7.34 * ratio * 0.7).answer == "decision changed"


def _cost(run: Run, name: str) -> float:
    cost = run.decision.of(name).usd_per_1m
    assert cost is not None
    assert cost.value is not None
    return cost.value


def test_a_price_in_another_commitment_is_not_ranked_beside_the_winners(run) -> None:
    spot = PriceFacts(
        value=0.5, unit="USD/h", basis=Basis.ASSUMPTION, date="2026-09-20", commitment="spot"
    )

    assert held(run, B=3.67, C=spot).answer == "still valid"


def in_euro(value: float) -> PriceFacts:
    return PriceFacts(
        value=value,
        unit="EUR/h",
        basis=Basis.ASSUMPTION,
        date="2026-09-20",
        commitment="on-demand",
    )


@pytest.mark.parametrize(
    ("prices", "why"),
    [
        ({"B": None, "C": 7.34}, "that of B is not known"),
        ({"B": 3.67, "C": None}, "that of C is not known"),
        ({"B": None, "C": None}, "that of B, C is not known"),
        ({"B": 3.67, "C": in_euro(1.0)}, "they are in EUR and USD, and none is converted"),
    ],
)
def test_prices_that_cannot_be_compared_change_no_decision(run, prices, why) -> None:
    """C yields more per machine-hour: by that it would win whatever it costs."""
    answer = held(run, **prices)

    assert (answer.answer, answer.exit_code, answer.reasons) == ("inconclusive", 5, ())
    assert answer.sentence.endswith(f"{why}.")


def test_a_winner_that_left_todays_file_has_no_price_of_today(run) -> None:
    answer = held(run, X=3.67, C=7.34)

    assert (answer.answer, answer.exit_code) == ("inconclusive", 5)
    assert answer.sentence.startswith("Inconclusive: today's file has no candidate B, ")


def test_prices_in_one_other_currency_decide(run) -> None:
    answer = held(run, B=in_euro(3.67), C=in_euro(1.0))

    assert (answer.answer, answer.winner_now) == ("decision changed", "C")


def test_a_price_that_is_too_old_to_say_anything_today_is_told(run) -> None:
    old = priced(7.34, date="2026-05-01", commitment="on-demand")

    assert (
        "The price of C is of 2026-05-01: read it again." in held(run, B=3.67, C=old).warnings
    )


def test_who_is_gone_or_new_in_todays_file_is_told(run) -> None:
    answer = held(run, B=3.67, E=0.1)

    assert any("at the price that it had: C" in each for each in answer.warnings)
    assert any("it takes no part: E" in each for each in answer.warnings)


def test_another_contract_is_told_and_does_not_decide(run) -> None:
    slo = CONTRACT.slo.model_copy(update={"itl_ms": 13.0})
    answer = held(run, contract=run.plan.contract.model_copy(update={"slo": slo}), B=3.67)

    assert answer.answer == "still valid"
    assert any("by the baseline's" in each for each in answer.warnings)
    assert [each.kind for each in answer.changes] == ["contract"]


def test_the_answer_fits_the_published_schema(run) -> None:
    text = file_text(held(run, B=3.67, C=1.0))

    jsonschema.Draft202012Validator(result_schema("reevaluation")).validate(json.loads(text))


def test_the_winner_of_a_re_evaluation_has_the_price_of_whom_it_stood_for(tmp_path) -> None:
    folder = baseline_run(tmp_path)
    again = begun(tmp_path, pin(folder), (control(), newer(), C))
    answer_of(again)
    from reports.manifest import write_manifest

    write_manifest(again)
    run = read_run(again.path)

    assert run.decision.winner == CONTROL
    assert origin_of(run) == "B"
    assert held(run, B=30.0, C=7.34).answer == "decision changed"


def test_a_run_that_names_nobody_is_no_baseline(tmp_path) -> None:
    from reports.conclude import conclude
    from tests.reports.run.builder import NOW, QUICK, build_run

    folder = build_run(tmp_path, [replace(C, name="C", itl_ms=40.0)], **QUICK)
    conclude(folder, now=NOW)

    with pytest.raises(ReportsError, match=r"it names no candidate \(none complies\)"):
        origin_of(read_run(folder.path))
