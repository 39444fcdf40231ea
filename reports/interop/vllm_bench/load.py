"""The load of a result file, in our terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf, isinf
from typing import Any

from reports.errors import ReportsError
from reports.interop.foreign import Process

_RESCALED = "the gaps between arrivals were rescaled to add up to n / rate"


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """How requests came: a closed loop of ``streams``, or a rate with or without a cap."""

    process: Process
    rate_per_s: float | None = None
    burstiness: float = 1.0
    streams: int | None = None
    cap: int | None = None
    notes: tuple[str, ...] = ()


def load_of(result: Mapping[str, Any], count: int, where: str) -> Load:
    """The load that the file states; ReportsError for one that has no counterpart here."""
    if result.get("ramp_up_strategy"):
        raise ReportsError(
            where,
            "its rate was ramped up: no level of load was held",
            "Measure at a constant rate, without --ramp-up-strategy",
        )
    rate = _number(result, "request_rate", where)
    burstiness = _number(result, "burstiness", where) if "burstiness" in result else 1.0
    cap = result.get("max_concurrency")
    if cap is not None and (not isinstance(cap, int) or cap < 1):
        raise ReportsError(where, f"its max_concurrency is {cap!r}", "Restore the file")
    if isinf(rate):
        return _closed(cap, count)
    process: Process = "poisson" if burstiness == 1 else "gamma"
    if isinf(burstiness):
        process, burstiness = "constant", 1.0
    return Load(
        process=process, rate_per_s=rate, burstiness=burstiness, cap=cap, notes=(_RESCALED,)
    )


def _closed(cap: int | None, count: int) -> Load:
    if cap is None or cap >= count:
        wave = f"all {count} requests were sent at once: one wave, and no load that was held"
        return Load(process="closed", streams=count, notes=(wave,))
    return Load(process="closed", streams=cap)


def _number(result: Mapping[str, Any], name: str, where: str) -> float:
    value = result.get(name)
    if value in ("inf", "Infinity"):
        return inf
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        raise ReportsError(where, f"its {name} is {value!r}", "Restore the file")
    return float(value)
