"""Load points of a campaign: what they are called, which one decides, which ask more."""

from __future__ import annotations

from collections.abc import Sequence

from catalog.schema import Campaign
from reports.run.plan_file import LoadPoint


def closed_point(concurrency: int) -> LoadPoint:
    """So many streams, each sending its next request when its last has ended."""
    return LoadPoint(name=f"closed-{concurrency}", process="closed", concurrency=concurrency)


def poisson_point(rate_per_s: float, max_in_flight: int | None = None) -> LoadPoint:
    """Requests that come at random at a mean rate, with or without a cap in flight."""
    cap = "" if max_in_flight is None else f"-cap{max_in_flight}"
    return LoadPoint(
        name=f"poisson-{rate_per_s:.6g}{cap}",
        process="poisson",
        rate_per_s=rate_per_s,
        max_in_flight=max_in_flight,
    )


def load_points(campaign: Campaign) -> tuple[LoadPoint, ...]:
    """Every level of load once: streams ascending, then rates; the contract's among them."""
    matrix = campaign.matrix
    rates = () if matrix.rates == "search" else matrix.rates
    found = [closed_point(streams) for streams in matrix.concurrency]
    found += [poisson_point(rate.value, matrix.max_in_flight) for rate in rates]
    own = contract_point(campaign)
    if own is not None:
        found.append(own)
    by_name = {point.name: point for point in found}
    return tuple(sorted(by_name.values(), key=_lightest_first))


def contract_point(campaign: Campaign) -> LoadPoint | None:
    """The contract's own load; None where it states work instead (``offline``)."""
    contract = campaign.contract
    if contract.offline is not None:
        return None
    if contract.rate is not None:
        return poisson_point(contract.rate.value, contract.concurrency)
    return closed_point(contract.concurrency or 1)


def decision_point(campaign: Campaign, points: Sequence[LoadPoint]) -> str | None:
    """The load point that the contract is judged at; None: every closed level, as a family."""
    own = contract_point(campaign)
    return next((point.name for point in points if own and point.name == own.name), None)


def above_a_miss(
    points: Sequence[LoadPoint], missed: Sequence[str], decision: str | None
) -> tuple[str, ...]:
    """Points that ask more than one that is a proven miss; never the contract's own.

    Without a load of its own (``decision`` None) a contract is one for work done, and more
    streams may do more: nothing is above a miss.
    """
    if decision is None:
        return ()
    lost = [point for point in points if point.name in missed]
    return tuple(
        point.name
        for point in points
        if point.name != decision and any(_asks_more(point, other) for other in lost)
    )


def _asks_more(point: LoadPoint, other: LoadPoint) -> bool:
    if (point.process, point.max_in_flight) != (other.process, other.max_in_flight):
        return False
    return _level(point) > _level(other)


def _level(point: LoadPoint) -> float:
    return point.rate_per_s if point.rate_per_s is not None else point.concurrency or 0


def _lightest_first(point: LoadPoint) -> tuple[bool, float, int]:
    return point.is_open, _level(point), point.max_in_flight or 0
