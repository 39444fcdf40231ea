"""The estimate of a plan: every kind of step with its time and its money, low to high."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from catalog.quantity import Basis
from flows.budget.steps import (
    NOTHING,
    Beside,
    Host,
    host_of,
    is_simulated,
    qualified,
    steps,
    until_measured,
)
from flows.budget.times import Range, added
from flows.matrix.order import visits
from reports.run.number import Number
from reports.run.plan_file import EstimateItem, RunPlan

_GATED: Final = ("reject", "unlikely", "unknown")


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Sums over an estimate: machine time, time on the wall, money (None: a price is unknown).

    Hosts work at the same time, so the wall's time is that of the host that takes longest.
    """

    machine_s: Range
    wall_s: Range
    usd: Range | None


def estimate(plan: RunPlan, beside: Beside = NOTHING) -> tuple[EstimateItem, ...]:
    """Each step of the plan, host by host, in the order in which it comes."""
    names = dict.fromkeys(visit.host for visit in plan.order)
    hosts = [host_of(plan, name, beside) for name in names]
    waits = _waits(hosts)
    return tuple(
        item for host, wait in zip(hosts, waits, strict=True) for item in steps(host, wait)
    )


def _waits(hosts: Sequence[Host]) -> list[Range]:
    """How long each machine stands idle, because others' quality is still to be measured.

    Quality comes after all cells of all machines, one candidate after another, and no machine
    is given back before the last of them.
    """
    asked = [_time(qualified(host)) for host in hosts]
    if not any(each.high for each in asked):
        return [Range()] * len(hosts)
    cells = [_time(until_measured(host)) for host in hosts]
    longest = Range(max(each.low for each in cells), max(each.high for each in cells))
    found = []
    for number, own in enumerate(cells):
        others = added(each for other, each in enumerate(asked) if other != number)
        most_s = longest.high - own.high + others.high
        # the machine that is last at the low end need not be so at the high end
        found.append(Range(min(longest.low - own.low + others.low, most_s), most_s))
    return found


def _time(items: Sequence[EstimateItem]) -> Range:
    return added(Range(each.low_s, each.high_s) for each in items)


def totals(items: Sequence[EstimateItem]) -> Totals:
    """The sums of an estimate."""
    by_host = {
        host: _time([each for each in items if each.host == host])
        for host in dict.fromkeys(each.host for each in items)
    }
    money = [
        Range(each.low_usd, each.high_usd)
        for each in items
        if each.low_usd is not None and each.high_usd is not None
    ]
    return Totals(
        machine_s=added(by_host.values()),
        wall_s=Range(
            max((each.low for each in by_host.values()), default=0.0),
            max((each.high for each in by_host.values()), default=0.0),
        ),
        usd=added(money) if len(money) == len(items) else None,
    )


def money_not_spent(plan: RunPlan, beside: Beside = NOTHING) -> Number | None:
    """What measuring those that the paper vote kept out would have cost, in USD.

    None where nobody was kept out (simulated engines would have cost nothing), or where a
    price is not known.
    """
    gated = tuple(
        each.model_copy(update={"measured": True})
        for each in plan.candidates
        if each.verdict in _GATED and not each.measured and not is_simulated(each)
    )
    if not gated:
        return None
    instead = plan.model_copy(update={"candidates": gated, "order": visits(gated, plan.matrix)})
    usd = totals(estimate(instead, beside)).usd
    if usd is None:
        return None
    return Number(
        value=usd.low,
        unit="USD",
        basis=Basis.ASSUMPTION,
        low=usd.low,
        high=usd.high,
        note="the estimate of measuring what the paper vote kept out; the value is its low end",
    )
