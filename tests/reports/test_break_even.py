"""Break-even load of an endpoint priced by token and hardware priced by hour."""

from __future__ import annotations

import pytest

from reports.break_even import break_evens, sentence


def test_the_load_at_which_both_cost_the_same(report_of_kind) -> None:
    (found,) = break_evens(report_of_kind("endpoint"))

    # $3.67/h buys 3.67 / 0.6 million tokens an hour
    assert found.tokens_per_s == pytest.approx(3.67 / 0.6 * 1e6 / 3600)
    assert found.rate_per_s == pytest.approx(found.tokens_per_s / 128)
    assert (found.endpoint, found.hardware) == ("API", "B")


def test_the_sentence_says_what_is_cheaper_where_and_what_was_proven(report_of_kind) -> None:
    (found,) = break_evens(report_of_kind("endpoint"))

    assert "above 13.3 requests/s (1,699 output tokens/s)" in sentence(found, None)
    assert sentence(found, None).endswith("was not proven.")
    assert sentence(found, 4.0).endswith("B held only 4.00 requests/s in this run.")
    assert sentence(found, 20.0).endswith("B held 20.0 requests/s in this run.")


def test_hardware_alone_has_no_break_even(report_of_kind) -> None:
    assert break_evens(report_of_kind("rehearsal")) == ()


def test_page_one_has_the_break_even_once(page_of_kind) -> None:
    decision = page_of_kind("endpoint")["report.html"].partition('id="question"')[0]

    assert decision.count("around the clock") == 1
