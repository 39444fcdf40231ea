"""The contract in plain numbers, as a run keeps it."""

from __future__ import annotations

from typing import Any, Final

from catalog.quantity import Quantity
from catalog.schema import Campaign, Contract
from catalog.schema.campaign import Agreement, Demand, Offline, Quality
from reports.run.plan_file import (
    AgreementFacts,
    ContractFacts,
    DemandFacts,
    OfflineFacts,
    QualityFacts,
    SloFacts,
)

_S_PER_H = 3600.0
_DEFAULT_SWITCH: Final = 0.1


def contract_facts(contract: Contract) -> ContractFacts:
    """What must hold: times in ms, rates per s, shares from 0 to 1, lengths as written."""
    slo = contract.slo
    return ContractFacts(
        model=contract.model,
        weights=contract.precision.weights,
        kv_cache=contract.precision.kv_cache,
        prompt_tokens=contract.prompt_tokens.text,
        output_tokens=contract.output_tokens.text,
        mean_output_tokens=contract.output_tokens.mean(),
        longest_output_tokens=contract.output_tokens.maximum,
        output=contract.output,
        cached_prefix_tokens=contract.cached_prefix_tokens,
        concurrency=contract.concurrency,
        rate_per_s=_value(contract.rate),
        offline=_offline(contract.offline),
        slo=SloFacts(
            ttft_ms=_ms(slo.ttft),
            itl_ms=_ms(slo.itl),
            itl_statistic=slo.itl_statistic,
            ttft_counts=slo.ttft_counts,
            percentile=slo.percentile,
            goodput=_value(slo.goodput),
        ),
        quality=_quality(contract.quality),
        demand=_demand(contract.demand),
        cost_ceiling_usd_per_1m=_value(contract.cost_ceiling),
    )


def rule_facts(campaign: Campaign) -> dict[str, Any]:
    """What the campaign states of how to decide, by the plan's names; a saving is a share."""
    switch = campaign.switch_if_saves
    return {
        "exploratory": campaign.exploratory,
        "incumbent": campaign.incumbent,
        "switch_if_saves": _DEFAULT_SWITCH if switch is None else switch.value,
        "commitments": campaign.commitments,
    }


def _offline(offline: Offline | None) -> OfflineFacts | None:
    if offline is None:
        return None
    per_hour = offline.requests_per_hour
    return OfflineFacts(
        tokens_per_hour=_value(offline.tokens_per_hour),
        requests_per_hour=None if per_hour is None else per_hour.value * _S_PER_H,
        requests=offline.requests,
        deadline_s=_value(offline.deadline),
    )


def _quality(quality: Quality | None) -> QualityFacts | None:
    if quality is None:
        return None
    return QualityFacts(
        reference=quality.reference,
        max_loss=quality.max_loss,
        margin_points=_value(quality.margin),
        tasks=quality.tasks,
        samples=quality.samples,
        agreement=_agreement(quality.agreement),
    )


def _agreement(limits: Agreement | None) -> AgreementFacts | None:
    if limits is None:
        return None
    return AgreementFacts(
        greedy=limits.greedy.value, kl=limits.kl, answer_tokens=limits.answer_tokens
    )


def _demand(demand: Demand | None) -> DemandFacts | None:
    if demand is None:
        return None
    return DemandFacts(
        peak_per_s=demand.peak.value,
        mean_per_s=demand.mean.value,
        headroom=_value(demand.headroom) or 0.0,
        spare=demand.spare,
    )


def _value(quantity: Quantity | None) -> float | None:
    return None if quantity is None else quantity.value


def _ms(quantity: Quantity | None) -> float | None:
    """Milliseconds as the file says them: 25 ms are 25.0, not a sum's last digit beside it."""
    return None if quantity is None else round(quantity.value * 1e3, 9)
