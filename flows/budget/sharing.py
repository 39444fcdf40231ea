"""What candidates save by taking turns on one rented machine."""

from __future__ import annotations

from dataclasses import dataclass

from flows.budget import times
from flows.budget.billing import HOUR_S
from flows.budget.steps import host_of
from flows.budget.times import Range
from reports.run.plan_file import RunPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Sharing:
    """One rented machine for several candidates, and what machines apart would cost more.

    ``saved_usd`` is None where the price is unknown. Machines apart would work at the same
    time: what is saved is money, not time on the wall.
    """

    host: str
    candidates: tuple[str, ...]
    saved_s: Range
    saved_usd: Range | None


def sharing(plan: RunPlan) -> tuple[Sharing, ...]:
    """Every rented machine that several candidates share."""
    found = []
    for name in dict.fromkeys(visit.host for visit in plan.order):
        host = host_of(plan, name)
        if host.kind != "cloud" or len(host.candidates) < 2:
            continue
        once = times.boot(host.kind) + times.release(host.kind)
        again = len(host.candidates) - len(
            {(each.checkpoint, each.precision) for each in host.candidates}
        )
        saved = once * (len(host.candidates) - 1)
        saved += times.download(host.candidates[0]) * again
        rate = host.usd_per_hour
        found.append(
            Sharing(
                host=name,
                candidates=tuple(each.name for each in host.candidates),
                saved_s=saved,
                saved_usd=None if rate is None else saved * (rate / HOUR_S),
            )
        )
    return tuple(found)
