"""The paper vote over a campaign's candidates, or over every offer of the catalog."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from catalog.combinations import Combinations
from catalog.entries import Catalog
from catalog.errors import CatalogError
from catalog.facts import Facts
from catalog.judging import Judge
from catalog.quantity import Quantity
from catalog.ranks import ranked
from catalog.resolve import resolve
from catalog.schema import Campaign, Runtime
from catalog.terms import needed_tokens_per_hour
from catalog.verdict import GateResult, Input, Rank, Status, Verdict, quantity_json

__all__ = [
    "ContractSummary",
    "GateResult",
    "Input",
    "Rank",
    "Screen",
    "Status",
    "Verdict",
    "screen",
    "screen_all_offers",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ContractSummary:
    """The contract in the numbers that the gates used.

    ``kind`` is ``concurrency``, ``rate`` or ``offline``; ``mean_context`` and
    ``maximum_context`` are S_avg and S_max in tokens; ``prompt_tokens_at_percentile`` is the
    prompt that the TTFT clause is judged with.
    """

    model: str
    weights: str
    kv_cache: str
    kind: str
    prompt_tokens: str
    output_tokens: str
    mean_context: float
    maximum_context: int
    prompt_tokens_at_percentile: int
    percentile: float
    cached_prefix_tokens: int
    concurrency: int | None = None
    rate: Quantity | None = None
    ttft: Quantity | None = None
    itl: Quantity | None = None
    itl_statistic: str | None = None
    goodput: Quantity | None = None
    needed_tokens_per_hour: Quantity | None = None
    cost_ceiling: Quantity | None = None

    def to_json(self) -> dict[str, Any]:
        """All fields; quantities as value, unit and basis."""
        return {name: _plain(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """All candidates of one contract with their verdicts, in the order to show them.

    ``commitments`` are the price kinds that compete.
    """

    name: str
    contract: ContractSummary
    candidates: tuple[Verdict, ...]
    all_offers: bool = False
    primary: Verdict | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        first = (each for each in self.candidates if Rank.PRIMARY in each.ranks)
        object.__setattr__(self, "primary", next(first, None))

    commitments: tuple[str, ...] = ("on-demand",)

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many candidates have each verdict."""
        return Counter(candidate.verdict for candidate in self.candidates)

    @property
    def survivors(self) -> tuple[Verdict, ...]:
        """Candidates that no bound rejects."""
        return tuple(c for c in self.candidates if c.verdict is not Status.REJECT)

    def to_json(self) -> dict[str, Any]:
        """The screen as ``--json`` prints it; all offers without sentences and details."""
        return {
            "schema_version": 1,
            "name": self.name,
            "stamp": "ESTIMATE",
            "contract": self.contract.to_json(),
            "counts": {status.value: count for status, count in sorted(self.counts.items())},
            "candidates": self._brief()
            if self.all_offers
            else [candidate.to_json() for candidate in self.candidates],
        }

    def _brief(self) -> list[dict[str, Any]]:
        """Each gate's answer once, however many offers share it."""
        seen: dict[int, dict[str, Any]] = {}
        for candidate in self.candidates:
            for gate in candidate.gates:
                if id(gate) not in seen:
                    seen[id(gate)] = gate.to_brief_json()
        return [
            candidate.to_brief_json([seen[id(gate)] for gate in candidate.gates])
            for candidate in self.candidates
        ]


def screen(
    campaign: Campaign, catalog: Catalog, runtimes: Mapping[str, Runtime], today: dt.date
) -> Screen:
    """The campaign's candidates in the file's order; ``today`` ages the prices.

    Raises
    ------
    CatalogError
        For names that the catalog lacks and settings that cannot be meant.
    """
    facts, judge = Facts.of(campaign, catalog, runtimes, today), Judge()
    verdicts = [judge.verdict(resolve(facts, each)) for each in campaign.candidates]
    _check_currency(verdicts)
    return Screen(
        name=campaign.name,
        contract=_summary(facts),
        candidates=ranked(verdicts, campaign.commitments),
        commitments=campaign.commitments,
    )


def screen_all_offers(
    campaign: Campaign, catalog: Catalog, runtimes: Mapping[str, Runtime], today: dt.date
) -> Screen:
    """Every offer that could serve the contract, cheapest best case first, rejects last.

    Raises
    ------
    CatalogError
        If the model's architecture is not modelled: no combination could be judged.
    """
    facts, judge = Facts.of(campaign, catalog, runtimes, today), Judge()
    if facts.arch is None:
        raise CatalogError(
            f"model {facts.model.name!r}", facts.gap, "Screen named candidates, or measure"
        )
    verdicts = [judge.verdict(case) for case in Combinations.of(facts, facts.arch)]
    return Screen(
        name=campaign.name,
        contract=_summary(facts),
        candidates=ranked(sorted(verdicts, key=_cheapest_first), campaign.commitments),
        all_offers=True,
        commitments=campaign.commitments,
    )


def _check_currency(verdicts: Sequence[Verdict]) -> None:
    """A campaign has one currency: prices in several are not converted, so not ranked."""
    priced: dict[str, str] = {}
    for verdict in verdicts:
        if verdict.price is not None:
            priced.setdefault(verdict.currency, verdict.name)
    if len(priced) > 1:
        (one, first), (other, second) = list(priced.items())[:2]
        raise CatalogError(
            f"candidate {second!r}",
            f"its price is in {other} and that of {first!r} in {one}",
            "State all prices in one currency (assumptions: {price: …})",
            value=second,
        )


def _cheapest_first(verdict: Verdict) -> tuple[bool, bool, float, int]:
    cost = verdict.best_usd_per_1m_output
    rejected = verdict.verdict is Status.REJECT
    return rejected, cost is None, cost or 0.0, verdict.device_count or 0


def _summary(facts: Facts) -> ContractSummary:
    terms, contract = facts.terms, facts.campaign.contract
    return ContractSummary(
        model=facts.model.name,
        weights=facts.weights.name,
        kv_cache=facts.kv.name,
        kind=terms.kind,
        prompt_tokens=contract.prompt_tokens.text,
        output_tokens=contract.output_tokens.text,
        mean_context=terms.mean_context,
        maximum_context=terms.maximum_context,
        prompt_tokens_at_percentile=terms.prompt,
        percentile=terms.percentile,
        cached_prefix_tokens=terms.cached_prefix,
        concurrency=contract.concurrency,
        rate=contract.rate,
        ttft=terms.ttft,
        itl=terms.itl,
        itl_statistic=contract.slo.itl_statistic if terms.itl is not None else None,
        goodput=contract.slo.goodput,
        needed_tokens_per_hour=needed_tokens_per_hour(terms),
        cost_ceiling=terms.cost_ceiling,
    )


def _plain(value: object) -> object:
    return quantity_json(value) if isinstance(value, Quantity) else value
