"""What an estimate comes to, in sentences: sums, limits, savings, what stands against it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from flows.budget import Sharing, Totals, billing_of, sharing, totals
from flows.budget.times import Range
from flows.matrix import above_a_miss
from reports.run.plan_file import RunPlan

_MINUTE_S: Final = 60.0
_HOUR_S: Final = 3600.0


def sums(plan: RunPlan) -> Iterator[str]:
    """Machine time and money of a plan, and all that a reader should hold beside them."""
    found = totals(plan.estimate)
    yield (
        f"machine time {_times(found.machine_s)}; on the wall {_times(found.wall_s)} "
        "(hosts work at the same time)"
    )
    yield f"cost {_money(found.usd)}{': a price is not known' if found.usd is None else ''}"
    yield from _limits(plan, found)
    yield from _skippable(plan)
    for host in dict.fromkeys(each.host for each in plan.estimate):
        candidate = next(each for each in plan.candidates if each.host == host)
        if candidate.host_class == "cloud":
            source = billing_of("cloud", candidate.offer).source
            yield f"{host}: {source}"
    yield from (_shared(each) for each in sharing(plan))
    saved = plan.money_not_spent
    if saved is not None and saved.low is not None and saved.high is not None:
        yield (
            "not spent on what the paper vote keeps out: "
            f"{_money(Range(saved.low, saved.high))}"
        )
    yield from plan.threats


def _limits(plan: RunPlan, found: Totals) -> Iterator[str]:
    """What the budget says to the estimate."""
    if plan.budget_usd is not None:
        high = None if found.usd is None else found.usd.high
        yield _against(f"the budget of ${plan.budget_usd:,.2f}", plan.budget_usd, high)
    if plan.budget_hours is not None:
        hours = found.wall_s.high / _HOUR_S
        yield _against(f"the budget of {plan.budget_hours:g} h", plan.budget_hours, hours)


def _against(name: str, limit: float, high: float | None) -> str:
    if high is None:
        return f"{name} cannot be held against it: a price is not known"
    if high <= limit:
        return f"{name} covers the high end"
    return f"{name} does not cover the high end: it ends before the step that would exceed it"


def _skippable(plan: RunPlan) -> Iterator[str]:
    own = plan.matrix.decision_point
    above = above_a_miss(plan.matrix.load_points, [own] if own else [], own)
    if above:
        yield (
            f"skipped once a level below is a proven miss: {', '.join(above)} "
            "(the low end has them in the first launch alone)"
        )


def _shared(each: Sharing) -> str:
    more = "" if each.saved_usd is None else f" {_money(each.saved_usd)}"
    names = ", ".join(each.candidates)
    return f"{names} share one {each.host}: machines apart would cost{more} more"


def time_words(seconds: float) -> str:
    """A time in the unit that suits it: ``12.5 s``, ``7.1 min``, ``1.25 h``."""
    if seconds < _MINUTE_S:
        return f"{seconds:.3g} s"
    if seconds < _HOUR_S:
        return f"{seconds / _MINUTE_S:.1f} min"
    return f"{seconds / _HOUR_S:.2f} h"


def _times(time: Range) -> str:
    return f"{time_words(time.low)} to {time_words(time.high)}"


def _money(usd: Range | None) -> str:
    return "unknown" if usd is None else f"${usd.low:,.2f} to ${usd.high:,.2f}"
