"""What ``runoff whatif`` is asked for, read from its options and held against the run."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isfinite
from typing import Any, Final

from catalog.quantity import Basis, Dimension, parse
from flows.errors import UsageError
from reports.run.plan_file import (
    CandidateFacts,
    DemandFacts,
    LoadPoint,
    PriceFacts,
    RunPlan,
    SloFacts,
)

_NONE: Final = "none"
_PLAIN: Final = re.compile(r"\d+(\.\d+)?")
_ITL: Final = ("tpot", "p95_gap", "max_gap")
_SLO_KEYS: Final = ("ttft", "ttfa", "itl", *_ITL, "goodput", "percentile")
_DEMAND_KEYS: Final = ("peak", "mean", "headroom", "spare")


def read_prices(texts: Sequence[str], plan: RunPlan) -> dict[str, PriceFacts | None]:
    """Prices by candidate, from ``CANDIDATE=3.20/h``, ``OFFER=…``, ``…=0.45/Mtok``, ``…=none``.

    An amount without a currency is in that of the candidate's own price.
    """
    found: dict[str, PriceFacts | None] = {}
    for text in texts:
        name, _, amount = text.partition("=")
        for facts in _named(plan, name.strip(), text):
            if facts.name in found:
                raise _refusal(f"--price {text}", f"{facts.name} has two prices", "Give one")
            found[facts.name] = _price(facts, amount.strip(), text)
    return found


def _named(plan: RunPlan, name: str, text: str) -> tuple[CandidateFacts, ...]:
    """The candidate of that name, or all that run on the offer of that name."""
    own = tuple(each for each in plan.candidates if each.name == name)
    found = own or tuple(each for each in plan.candidates if name and each.offer == name)
    if not found:
        names = [each.name for each in plan.candidates]
        offers = sorted({each.offer for each in plan.candidates if each.offer})
        raise _refusal(
            f"--price {text}",
            "the run has no such candidate or offer",
            f"Name one of {', '.join([*names, *offers])}, as in {names[0]}=3.20/h",
        )
    return found


def _price(facts: CandidateFacts, amount: str, text: str) -> PriceFacts | None:
    if amount == _NONE:
        return None
    old, where = facts.price, f"--price {text}"
    currency = "USD" if old is None else old.unit.partition("/")[0]
    number, slash, per = amount.partition("/")
    if _PLAIN.fullmatch(number.strip()):
        if not slash:
            unit = "Mtok" if facts.kind == "endpoint" else "h"
            raise _refusal(
                where, f"{amount!r} has no unit", f"Write it as {facts.name}={amount}/{unit}"
            )
        amount = f"{number.strip()} {currency}{slash}{per}"
    dimension = Dimension.COST if per.strip() == "Mtok" else Dimension.PRICE
    value, unit = _parsed(amount, dimension, where)
    if value <= 0:
        raise _refusal(where, "a price is above zero", "Give what is paid, or none")
    if dimension is Dimension.COST and facts.kind != "endpoint":
        raise _refusal(
            where, f"{facts.name} is paid for by the hour", "Give the price of an hour"
        )
    return PriceFacts(
        value=value,
        unit=unit,
        basis=Basis.ASSUMPTION,
        source="what-if",
        stated=True,
        commitment=None if old is None else old.commitment,
        sold_as=None if old is None else old.sold_as,
    )


def read_slo(text: str, plan: RunPlan) -> SloFacts:
    """The contract's limits with those of ``ttft=800,tpot=25,goodput=95%,percentile=99``.

    Times without a unit are milliseconds; ``none`` drops a limit.
    """
    where, changes = f"--slo {text}", dict[str, Any]()
    if plan.contract.offline is not None:
        raise _refusal(
            where, "the run's contract is for work done", "It has no latency limits to change"
        )
    for key, value in _pairs(text, where, _SLO_KEYS).items():
        changes |= _limit(key, value, where)
    return plan.contract.slo.model_copy(update=changes)


def _limit(key: str, value: str, where: str) -> dict[str, Any]:
    if key == "percentile":
        return {"percentile": _between(value, 50, 100, where)}
    if key == "goodput":
        share = None if value == _NONE else _parsed(value, Dimension.SHARE, where)[0]
        if share is not None and not 0 < share < 1:
            raise _refusal(where, f"goodput {value} is no share", "Write it as 95%, or none")
        return {"goodput": share}
    limit = None if value == _NONE else _ms(value, where)
    if key in ("ttft", "ttfa"):
        counts = "answer_token" if key == "ttfa" else "any_token"
        return {"ttft_ms": limit, "ttft_counts": counts}
    return {"itl_ms": limit, **({"itl_statistic": key} if key in _ITL else {})}


def _ms(value: str, where: str) -> float:
    if _PLAIN.fullmatch(value):
        value += " ms"
    milliseconds = round(_parsed(value, Dimension.TIME, where)[0] * 1e3, 9)
    if milliseconds <= 0:
        raise _refusal(where, f"{value} leaves no time", "Give more than zero, or none")
    return milliseconds


def _between(value: str, low: float, high: float, where: str) -> float:
    try:
        number = float(value)
    except ValueError:
        number = float("nan")
    if not (isfinite(number) and low < number < high):
        raise _refusal(
            where, f"{value!r} is not between {low:g} and {high:g}", "Write it as 95"
        )
    return number


def read_demand(text: str, plan: RunPlan) -> DemandFacts | None:
    """The traffic of ``peak=8,mean=3,headroom=20%,spare=1`` over the contract's; None: none.

    Rates without a unit are requests per second.
    """
    if text.strip() == _NONE:
        return None
    where = f"--demand {text}"
    old = plan.contract.demand
    found: dict[str, Any] = {} if old is None else old.model_dump()
    for key, value in _pairs(text, where, _DEMAND_KEYS).items():
        if key == "spare":
            if not value.isdecimal():
                raise _refusal(where, f"spare {value!r} is no number", "Write it as spare=1")
            found["spare"] = int(value)
        elif key == "headroom":
            found["headroom"] = _parsed(value, Dimension.SHARE, where)[0]
        else:
            found[f"{key}_per_s"] = read_rate(value, where)
    if missing := {"peak_per_s", "mean_per_s"} - found.keys():
        names = " and ".join(sorted(name.removesuffix("_per_s") for name in missing))
        raise _refusal(where, f"it has no {names} rate", "Write it as peak=8,mean=3")
    if found["mean_per_s"] > found["peak_per_s"]:
        raise _refusal(where, "the mean rate is above the peak", "Swap them")
    if not 0 <= found.get("headroom", 0.0) < 1:
        raise _refusal(where, "the headroom leaves no capacity", "Write it as headroom=20%")
    return DemandFacts(**found)


def read_rate(text: str, where: str) -> float:
    """Requests per second of ``8``, ``8/s`` or ``480/min``."""
    value = f"{text}/s" if _PLAIN.fullmatch(text.strip()) else text
    rate, _ = _parsed(value, Dimension.RATE, where)
    if rate <= 0:
        raise _refusal(where, f"{text!r} is no rate", "Give more than zero")
    return rate


def point_at(at_rate: Sequence[LoadPoint], rate: str) -> LoadPoint | None:
    """The one load point of a rate; None where nothing was measured at it."""
    if len(at_rate) > 1:
        names = ", ".join(each.name for each in at_rate)
        raise _refusal(f"--rate {rate}", f"{names} have this rate", "Name one with --load")
    return at_rate[0] if at_rate else None


def point_named(points: Mapping[str, LoadPoint], name: str) -> LoadPoint:
    """The measured load point of that name."""
    if name not in points:
        known = ", ".join(points) or "none"
        raise _refusal(
            f"--load {name}", "nothing was measured there", f"The measured ones: {known}"
        )
    return points[name]


def _pairs(text: str, where: str, known: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part in text.split(","):
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not value or key not in known:
            raise _refusal(
                where, f"{part.strip()!r} is not KEY=VALUE", f"Keys: {', '.join(known)}"
            )
        if key in found:
            raise _refusal(where, f"{key} is given twice", "Give it once")
        found[key] = value
    return found


def _parsed(text: str, dimension: Dimension, where: str) -> tuple[float, str]:
    try:
        return parse(text, dimension)
    except ValueError as error:
        raise _refusal(where, str(error), "") from None


def _refusal(where: str, seen: str, do: str) -> UsageError:
    return UsageError(where, seen, do)
