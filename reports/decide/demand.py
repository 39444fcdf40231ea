"""How many whole instances the stated traffic needs, and what they cost a month."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from catalog.quantity import Basis
from reports.contract_words import stated
from reports.decide.contender import Contender
from reports.decide.metric import tie_order
from reports.run.number import Number
from reports.run.plan_file import ContractFacts, DemandFacts

HOURS_PER_MONTH: Final = 730.0
_ROUNDING: Final = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Fleet:
    """Instances for the peak at the highest proven rate, and their monthly cost, idle too.

    ``least_monthly`` is the cost if each held all but the lowest disproven rate: no
    measurement excludes it. Costs are None where the price is not known.
    """

    instances: int
    monthly: float | None
    least_monthly: float | None


def fleet_of(each: Contender, contract: ContractFacts) -> Fleet | None:
    """Return the fleet for the contract's demand; None without a proven rate.

    instances = ceil(peak / (held rate × (1 - headroom))) + spare.
    """
    demand, held = contract.demand, each.held
    if demand is None or held is None or not held.highest_proven:
        return None
    if each.facts.kind == "endpoint" and each.hourly is None:
        return _endpoint(each, contract, demand, held.highest_proven)
    instances = _instances(demand, held.highest_proven)
    fewest = (
        1 + demand.spare
        if held.lowest_disproven is None
        else _instances(demand, held.lowest_disproven)
    )
    price = each.hourly
    return Fleet(
        instances=instances,
        monthly=None if price is None else instances * price * HOURS_PER_MONTH,
        least_monthly=None if price is None else fewest * price * HOURS_PER_MONTH,
    )


def _instances(demand: DemandFacts, held_rate: float) -> int:
    needed = demand.peak_per_s / (held_rate * (1 - demand.headroom))
    return max(1, ceil(needed - _ROUNDING)) + demand.spare


def _endpoint(
    each: Contender, contract: ContractFacts, demand: DemandFacts, held_rate: float
) -> Fleet | None:
    """A service bears the peak or does not; its tokens are paid for at the mean rate."""
    if held_rate < demand.peak_per_s or each.facts.price is None:
        return None
    if not contract.output_tokens.isdecimal():
        return None
    tokens = demand.mean_per_s * 3600 * HOURS_PER_MONTH * float(contract.output_tokens)
    monthly = tokens / 1e6 * each.facts.price.value
    return Fleet(instances=1, monthly=monthly, least_monthly=monthly)


def unsized_words(each: Sequence[Contender], contract: ContractFacts) -> str:
    """Return a sentence for each candidate without a fleet: what it lacks."""
    return " ".join(_unsized(one, contract) for one in each)


def _unsized(each: Contender, contract: ContractFacts) -> str:
    demand, held = contract.demand, each.held
    if demand is None or held is None or not held.highest_proven:
        return f"{each.name} has no proven rate."
    is_metered = each.facts.kind == "endpoint" and each.hourly is None
    if is_metered and held.highest_proven < demand.peak_per_s:
        return (
            f"{each.name} is proven to hold {stated(held.highest_proven)} of the "
            f"{stated(demand.peak_per_s)} requests per s of the peak."
        )
    return f"{each.name} has no price that a month can be reckoned by."


def monthly_number(fleet: Fleet | None, currency: str | None, basis: Basis) -> Number | None:
    """The monthly cost as the result file has it."""
    if fleet is None or fleet.monthly is None:
        return None
    return Number(
        value=fleet.monthly,
        unit=currency or "USD",
        basis=basis,
        low=fleet.least_monthly,
        high=fleet.monthly,
        method="whole instances at the bracket of held rates, idle hours included",
    )


def cheapest(
    fleets: Mapping[str, Fleet], pool: Sequence[Contender]
) -> tuple[list[str], tuple[str, ...]]:
    """Return the candidates by monthly cost, and those that the first is not shown to beat.

    One is beaten where even its least cost is above the first's cost.
    """
    by_name = {each.name: each for each in pool}
    costs = {
        name: (fleet.monthly, fleet.least_monthly)
        for name, fleet in fleets.items()
        if fleet.monthly is not None and fleet.least_monthly is not None
    }
    order = sorted(costs, key=lambda name: (costs[name][0], tie_order(by_name[name])))
    if not order:
        return [], ()
    first = costs[order[0]][0]
    tied = tuple(name for name in order if name == order[0] or costs[name][1] <= first)
    return order, tied
