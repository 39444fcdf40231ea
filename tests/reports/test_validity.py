"""A signoff is good until its last day, that day included, and says so as of any day."""

from __future__ import annotations

import datetime as dt

import pytest

from reports.validity import expiry_words, is_expired

LAST = dt.date(2026, 10, 30)


@pytest.mark.parametrize(("days", "is_over"), [(-400, False), (0, False), (1, True), (9, True)])
def test_it_expires_on_the_day_after_its_last(days: int, *, is_over: bool) -> None:
    today = LAST + dt.timedelta(days=days)

    assert is_expired(LAST, today) is is_over
    assert is_expired(LAST.isoformat(), today) is is_over
    assert expiry_words(LAST, today).startswith("expired: " if is_over else "valid until ")


def test_without_a_dated_price_it_does_not_expire_by_date() -> None:
    assert not is_expired(None, dt.date.max)
    assert "does not expire by date" in expiry_words(None, dt.date.max)
