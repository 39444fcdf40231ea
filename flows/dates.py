"""Days as they are written on a command line."""

from __future__ import annotations

import datetime as dt

from flows.errors import UsageError


def day_of(text: str) -> dt.date:
    """The day that ``--today`` names, else today's in UTC; UsageError where it is no date."""
    if not text:
        return dt.datetime.now(dt.UTC).date()
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        raise UsageError(
            "--today", f"{text!r} is not a date", "Write it as 2026-08-22"
        ) from None
