"""Where an endpoint priced by token costs as much as hardware priced by hour."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from catalog.quantity import significant
from reports.number_words import amount
from reports.report import Report
from reports.run.plan_file import CandidateFacts

_SECONDS_PER_HOUR = 3600
_PER_TOKEN, _PER_HOUR = "/Mtok", "/h"


@dataclass(frozen=True, slots=True, kw_only=True)
class BreakEven:
    """The load above which the hardware is cheaper, for one instance of it.

    ``tokens_per_s`` are output tokens per second sustained around the clock, ``rate_per_s``
    the requests that ask for them (None where answers have no fixed length).
    """

    endpoint: str
    hardware: str
    hourly: str
    per_million: str
    tokens_per_s: float
    rate_per_s: float | None


def break_evens(report: Report) -> tuple[BreakEven, ...]:
    """Every pair of an endpoint and hardware in one currency."""
    return tuple(_pairs(report))


def sentence(found: BreakEven, held_rate: float | None) -> str:
    """The break-even load in a sentence, and whether the hardware was seen to bear it."""
    load = f"{significant(found.tokens_per_s)} output tokens/s"
    if found.rate_per_s is not None:
        load = f"{significant(found.rate_per_s)} requests/s ({load})"
    text = (
        f"Break-even of {found.hardware} ({found.hourly}) with {found.endpoint} "
        f"({found.per_million}): above {load} around the clock one instance of "
        f"{found.hardware} is cheaper, below it {found.endpoint} is."
    )
    if held_rate is None or found.rate_per_s is None:
        return text + f" Whether {found.hardware} bears that load was not proven."
    can = "held" if held_rate >= found.rate_per_s else "held only"
    return f"{text} {found.hardware} {can} {significant(held_rate)} requests/s in this run."


def _pairs(report: Report) -> Iterator[BreakEven]:
    candidates = report.plan.candidates
    output = report.plan.contract.output_tokens
    tokens = float(output) if output.isdecimal() else None
    for endpoint in candidates:
        for hardware in candidates:
            load = _tokens_per_s(endpoint, hardware)
            if load is not None and endpoint.price and hardware.price:
                yield BreakEven(
                    endpoint=endpoint.name,
                    hardware=hardware.name,
                    hourly=amount(hardware.price.value, hardware.price.unit),
                    per_million=amount(endpoint.price.value, endpoint.price.unit),
                    tokens_per_s=load,
                    rate_per_s=load / tokens if tokens else None,
                )


def _tokens_per_s(endpoint: CandidateFacts, hardware: CandidateFacts) -> float | None:
    per_token, hourly = endpoint.price, hardware.price
    if per_token is None or hourly is None or per_token.value <= 0:
        return None
    same = per_token.unit.partition("/")[0] == hourly.unit.partition("/")[0]
    fits = per_token.unit.endswith(_PER_TOKEN) and hourly.unit.endswith(_PER_HOUR)
    if not (same and fits):
        return None
    return hourly.value / per_token.value * 1e6 / _SECONDS_PER_HOUR
