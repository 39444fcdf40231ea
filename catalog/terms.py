"""A contract in numbers: streams, lengths, limits and rates that the gates compare with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from catalog.quantity import Basis, Quantity
from catalog.schema import Campaign, Contract

Kind = Literal["concurrency", "rate", "offline"]
SECONDS_PER_HOUR = 3600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the contract asks, in tokens and seconds.

    ``streams`` is C (1 where only a rate is stated: nothing else is certain to be resident).
    ``prompt`` is the prompt at the SLO's percentile, ``mean_*`` are expectations,
    ``mean_context`` is S_avg and ``maximum_context`` S_max; where ``longest_output`` is 1 no
    token follows another. ``rate_per_s`` is λ, for an
    offline contract the rate that its goal needs; ``needed_tokens_per_s`` is that goal in
    output tokens. ``load_points_per_s`` are rates to measure at that promise nothing.
    """

    kind: Kind
    streams: int
    streams_stated: bool
    percentile: float
    prompt: int
    mean_prompt: float
    mean_output: float
    shortest_context: int
    mean_context: float
    maximum_context: int
    longest_output: int
    cached_prefix: int = 0
    ttft: Quantity | None = None
    itl: Quantity | None = None
    rate_per_s: float | None = None
    needed_tokens_per_s: float | None = None
    load_points_per_s: tuple[float, ...] = ()
    cost_ceiling: Quantity | None = None
    weights: str = "bfloat16"
    kv_cache: str = "bfloat16"


def terms_of(campaign: Campaign) -> Terms:
    """The contract's numbers, with the rates of the campaign's matrix as load points."""
    contract = campaign.contract
    prompt, output = contract.prompt_tokens, contract.output_tokens
    mean_prompt, mean_output = prompt.mean(), output.mean()
    rates = campaign.matrix.rates
    return Terms(
        kind=_kind(contract),
        streams=contract.concurrency or 1,
        streams_stated=contract.concurrency is not None,
        percentile=contract.slo.percentile,
        prompt=prompt.quantile(contract.slo.percentile / 100),
        mean_prompt=mean_prompt,
        mean_output=mean_output,
        shortest_context=prompt.minimum,
        mean_context=mean_prompt + mean_output / 2,
        maximum_context=prompt.maximum + output.maximum,
        longest_output=output.maximum,
        cached_prefix=contract.cached_prefix_tokens,
        ttft=contract.slo.ttft,
        itl=contract.slo.itl,
        rate_per_s=_rate_per_s(contract, mean_output),
        needed_tokens_per_s=_needed_tokens_per_s(contract, mean_output),
        load_points_per_s=() if rates == "search" else tuple(rate.value for rate in rates),
        cost_ceiling=contract.cost_ceiling,
        weights=contract.precision.weights,
        kv_cache=contract.precision.kv_cache,
    )


def needed_tokens_per_hour(terms: Terms) -> Quantity | None:
    """Output tokens per hour that an offline contract needs; None for other contracts."""
    if terms.needed_tokens_per_s is None:
        return None
    return Quantity(
        value=terms.needed_tokens_per_s * SECONDS_PER_HOUR,
        unit="tok/h",
        basis=Basis.ASSUMPTION,
        source="stated in the campaign",
    )


def _kind(contract: Contract) -> Kind:
    if contract.offline is not None:
        return "offline"
    return "rate" if contract.concurrency is None else "concurrency"


def _rate_per_s(contract: Contract, mean_output: float) -> float | None:
    needed = _needed_tokens_per_s(contract, mean_output)
    if needed is not None:
        return needed / mean_output
    return contract.rate.value if contract.rate is not None else None


def _needed_tokens_per_s(contract: Contract, mean_output: float) -> float | None:
    goal = contract.offline
    if goal is None:
        return None
    if goal.tokens_per_hour is not None:
        return goal.tokens_per_hour.value / SECONDS_PER_HOUR
    if goal.requests_per_hour is not None:
        return goal.requests_per_hour.value * mean_output
    if goal.requests is not None and goal.deadline is not None:
        return goal.requests * mean_output / goal.deadline.value
    raise ValueError("an offline contract states no goal")  # the schema lets none through
