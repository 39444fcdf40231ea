"""What is to be other than in the run, and the plan that would have had it so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from reports.contract_words import limits_line, load, stated
from reports.number_words import amount
from reports.repriced import with_prices
from reports.run.plan_file import (
    CandidateFacts,
    ContractFacts,
    DemandFacts,
    LoadPoint,
    PriceFacts,
    RunPlan,
    SloFacts,
)
from reports.run.whatif_file import Change

Votes = Mapping[str, frozenset[str]]  # by candidate, the gates whose bounds reject it

NOT_OF_THIS: Final = (
    "the paper vote against it is of the run's own contract; it was not measured"
)
_OF_THE_LOAD: Final = frozenset({"memory", "utilisation"})
_OF_THE_LIMITS: Final = frozenset({"compute", "bandwidth"})  # the plan has their bounds


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The changes; what is not named stays as it is in the run.

    ``prices`` by candidate (None: not known), ``slo`` the limits as a whole, ``demand`` the
    traffic to size a fleet for (``without_demand``: none), ``point`` the measured load point
    to judge at, or ``rate_per_s`` a rate at which nothing was measured.
    """

    prices: Mapping[str, PriceFacts | None] = field(default_factory=dict)
    slo: SloFacts | None = None
    demand: DemandFacts | None = None
    without_demand: bool = False
    point: LoadPoint | None = None
    rate_per_s: float | None = None


def supposed_plan(plan: RunPlan, asked: Asked, votes: Votes) -> RunPlan:
    """The plan with everything as asked; KeyError for a price of no candidate.

    A rejection by bounds that need not hold under what is asked for is taken back.
    """
    priced = with_prices(plan, asked.prices)
    contract, matrix, candidates = (
        _contract(plan.contract, asked),
        plan.matrix,
        priced.candidates,
    )
    point = asked.point
    if point is not None:
        matrix = matrix.model_copy(update={"decision_point": point.name})
    return priced.model_copy(
        update={
            "contract": contract,
            "matrix": matrix,
            "candidates": tuple(
                _voted(_bounded(each, plan, contract, point), plan, contract, point, votes)
                for each in candidates
            ),
        }
    )


def _contract(contract: ContractFacts, asked: Asked) -> ContractFacts:
    changes: dict[str, object] = {}
    if asked.slo is not None:
        changes["slo"] = asked.slo
    if asked.demand is not None or asked.without_demand:
        changes["demand"] = asked.demand
    point = asked.point
    if point is not None:
        streams = point.max_in_flight if point.is_open else point.concurrency
        changes |= {"rate_per_s": point.rate_per_s, "concurrency": streams}
    return contract.model_copy(update=changes)


def _bounded(
    each: CandidateFacts, plan: RunPlan, contract: ContractFacts, point: LoadPoint | None
) -> CandidateFacts:
    """The candidate with those bounds of the paper vote that bind here as well.

    That on ITL is of the contract's own streams, those on prompts of other lengths than one
    are of the contract's percentile of them.
    """
    changes: dict[str, None] = {}
    if point is not None and point.name != plan.matrix.decision_point:
        planned = plan.contract.concurrency
        is_closed = not point.is_open and plan.contract.rate_per_s is None
        if not (is_closed and planned and point.concurrency and point.concurrency >= planned):
            changes["bound_itl_ms"] = None
    other_percentile = contract.slo.percentile != plan.contract.slo.percentile
    if other_percentile and not contract.prompt_tokens.strip().isdigit():
        changes |= {"bound_ttft_ms": None, "bound_itl_ms": None}
    return each.model_copy(update=changes) if changes else each


def _voted(
    each: CandidateFacts,
    plan: RunPlan,
    contract: ContractFacts,
    point: LoadPoint | None,
    votes: Votes,
) -> CandidateFacts:
    """The candidate without a rejection on paper that was of other limits, loads or prices."""
    is_moved = point is not None and point.name != plan.matrix.decision_point
    is_repriced = each.price != plan.candidate(each.name).price
    is_limited = contract.slo != plan.contract.slo
    gates = votes.get(each.name) or _OF_THE_LIMITS
    slo = contract.slo
    still = {
        "support": True,
        **dict.fromkeys(_OF_THE_LOAD, not is_moved),
        "economics": not (is_moved or is_repriced),
        "compute": not is_limited or _is_beyond(each.bound_ttft_ms, slo.ttft_ms),
        "bandwidth": not is_moved
        and (not is_limited or _is_beyond(each.bound_itl_ms, slo.itl_ms)),
    }
    if each.verdict != "reject" or any(still.get(gate) for gate in gates):
        return each
    changes: dict[str, Any] = {"verdict": "unknown", "skipped": NOT_OF_THIS}
    return each.model_copy(update=changes)


def _is_beyond(bound: float | None, limit: float | None) -> bool:
    return bound is not None and limit is not None and bound > limit


def changes_of(then: RunPlan, now: RunPlan, asked: Asked) -> tuple[Change, ...]:
    """Everything that was asked for and is not as in the run, in words."""
    return tuple(_changes(then, now, asked))


def _changes(then: RunPlan, now: RunPlan, asked: Asked) -> Iterator[Change]:
    for was, is_ in zip(then.candidates, now.candidates, strict=True):
        if was.price != is_.price:
            yield Change(
                what="price", of=was.name, was=_price(was.price), now=_price(is_.price)
            )
    if then.contract.slo != now.contract.slo:
        yield Change(
            what="limits",
            of="contract",
            was=limits_line(then.contract),
            now=limits_line(now.contract),
        )
    if then.contract.demand != now.contract.demand:
        yield Change(
            what="demand",
            of="contract",
            was=_demand(then.contract.demand),
            now=_demand(now.contract.demand),
        )
    point, rate = asked.point, asked.rate_per_s
    if point is not None and then.matrix.decision_point != point.name:
        yield Change(what="load", of="contract", was=_load(then), now=load(point))
    elif rate is not None:
        there = f"{stated(rate)} requests/s"
        yield Change(what="load", of="contract", was=_load(then), now=there)


def _price(price: PriceFacts | None) -> str:
    return "not known" if price is None else amount(price.value, price.unit)


def _demand(demand: DemandFacts | None) -> str:
    if demand is None:
        return "none"
    words = f"peak {stated(demand.peak_per_s)}/s, mean {stated(demand.mean_per_s)}/s"
    if demand.headroom:
        words += f", headroom {demand.headroom * 100:g}%"
    return words + (f", {demand.spare} spare" if demand.spare else "")


def _load(plan: RunPlan) -> str:
    name = plan.matrix.decision_point
    return "every closed level" if name is None else load(plan.load_point(name))
