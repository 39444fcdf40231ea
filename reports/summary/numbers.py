"""A figure over launches as the number of a result file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Final

from catalog.quantity import Basis
from reports.run.number import Number
from reports.stats.replications import replicated

_AMONG_FAILURES: Final = "in the median launch it lies among the failures"
_NO_TOKENS: Final = "infinite: no compliant token in the median launch"
_NOT_SEEN: Final = "not observed in every launch"

_UNITS: Final[Mapping[str, str]] = {
    "output_tokens_per_s": "tok/s",
    "compliant_tokens_per_s": "tok/s",
    "requests_per_s": "/s",
    "achieved_rate": "/s",
    "in_flight_mean": "requests",
    "interactivity_tok_per_s": "tok/s",
    "output_tok_per_s_per_device": "tok/s",
    "compliant_tok_per_machine_hour": "tok/h",
    "kv_use_max": "1",
    "preemptions": "1",
}


def unit_of(name: str, currency: str) -> str:
    """The unit of a measure, by its name."""
    if name.startswith("usd_per_1m"):
        return f"{currency}/Mtok"
    return "ms" if name.endswith("_ms") else _UNITS[name]


def over_launches(
    values: Sequence[float | None],
    *,
    name: str,
    unit: str,
    basis: Basis,
    requests: int,
    note: str | None = None,
) -> Number:
    """Return a measure's median over launches with its t-interval on logarithms.

    Infinity stands for a value beyond the failures, or for a cost without compliant tokens;
    where the median is infinite the number has no value and its note says so.
    """
    found = replicated(values)
    return Number(
        value=finite(found.median),
        unit=unit,
        basis=basis,
        low=finite(found.low),
        high=finite(found.high),
        level=found.level,
        method=found.method,
        n=requests,
        runs=found.n_runs,
        mad=finite(found.mad),
        minimum=finite(found.minimum),
        maximum=finite(found.maximum),
        note=_note(name, found.median, values) or note,
    )


def finite(value: float | None) -> float | None:
    """The value where it is a number that JSON can hold."""
    return value if value is not None and isfinite(value) else None


def _note(name: str, median: float | None, values: Sequence[float | None]) -> str | None:
    if median is None:
        return _NOT_SEEN if any(value is not None for value in values) else None
    if isfinite(median):
        return None
    return _NO_TOKENS if name.startswith("usd_per_1m") else _AMONG_FAILURES
