"""From a case to a verdict: every gate answers, and the worst answer decides."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field

from catalog.best_case import MILLION, cost
from catalog.case import Case, Unmodelled
from catalog.gates import Gate, Reads, all_gates
from catalog.gates._answers import unknown
from catalog.placement import Placement
from catalog.quantity import Basis, Quantity
from catalog.sale import Sale
from catalog.verdict import SEVERITY, GateResult, Status, Verdict

DOLLARS_PER_HOUR = "USD/h"
Assumptions = tuple[tuple[str, Quantity | None], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """Answers that do not depend on the price, by gate; they keep their placement alive."""

    placement: Placement
    answers: Mapping[str, GateResult]
    assumptions: Assumptions = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """Applies the gates; each is asked once for all candidates that are alike to it."""

    gates: tuple[Gate, ...] = field(default_factory=all_gates)
    _by_placement: dict[int, Fixed] = field(default_factory=dict)
    _by_ranks: dict[Hashable, Fixed] = field(default_factory=dict)

    def verdict(self, case: Case | Unmodelled) -> Verdict:
        """The candidate after all gates."""
        if isinstance(case, Unmodelled):
            return _unmodelled(case, self.gates)
        fixed = self._fixed(case)
        answers = fixed.answers
        results = tuple([answers.get(gate.name) or gate.judge(case) for gate in self.gates])
        return _verdict(case, results, fixed.assumptions)

    def _fixed(self, case: Case) -> Fixed:
        key = id(case.placement)
        if key not in self._by_placement:
            ranks = self._for_ranks(case)
            self._by_placement[key] = Fixed(
                placement=case.placement,
                answers={**ranks.answers, **self._answers(case, "placement")},
                assumptions=_assumptions(case.placement),
            )
        return self._by_placement[key]

    def _for_ranks(self, case: Case) -> Fixed:
        key = case.placement.rank_facts
        if key not in self._by_ranks:
            answers = self._answers(case, "ranks")
            self._by_ranks[key] = Fixed(placement=case.placement, answers=answers)
        return self._by_ranks[key]

    def _answers(self, case: Case, reads: Reads) -> dict[str, GateResult]:
        return {gate.name: gate.judge(case) for gate in self.gates if gate.reads == reads}


def deciding(results: tuple[GateResult, ...]) -> tuple[Status, GateResult | None]:
    """The worst status, and the first gate that has it (None where all pass)."""
    for status in SEVERITY[:-1]:
        for result in results:
            if result.status is status:
                return status, result
    return Status.PASS, None


def _verdict(case: Case, results: tuple[GateResult, ...], assumed: Assumptions) -> Verdict:
    place, sale = case.placement, case.sale
    status, decided = deciding(results)
    tokens = case.best_tokens_per_hour if status is not Status.REJECT else None
    return Verdict(
        name=case.name,
        verdict=status,
        gates=results,
        decided_by=decided.gate if decided is not None else None,
        clause=decided.clause if decided is not None else None,
        parity=case.parity,
        offer=sale.offer,
        device=place.device.name,
        device_title=place.device.title,
        device_count=place.device_count,
        tensor_parallel=place.k,
        precision=place.weights.name,
        kv_precision=place.kv.name,
        runtime=place.runtime.name,
        version=place.version or None,
        replicas_per_host=place.replicas,
        sold_as=sale.sold_as,
        commitment=sale.commitment,
        price_usd_per_hour=_dollars(sale),
        best_usd_per_1m_output=_per_million(sale, tokens),
        price=sale.price,
        best_cost=cost(sale, tokens, Basis.BOUND),
        best_tokens_per_hour=tokens,
        stale=sale.stale,
        notes=case.notes,
        assumptions=(*assumed, ("price", sale.price)),
        calibrated=place.replaced,
    )


def _unmodelled(case: Unmodelled, gates: tuple[Gate, ...]) -> Verdict:
    results = tuple(unknown(gate.name, case.reason) for gate in gates)
    return Verdict(
        name=case.name,
        verdict=Status.UNKNOWN,
        gates=results,
        decided_by=results[0].gate if results else None,
        clause=case.reason,
        parity=case.parity,
        offer=case.sale.offer,
        device=case.device,
        device_title=case.device_title,
        device_count=case.device_count,
        tensor_parallel=case.tensor_parallel,
        precision=case.precision,
        kv_precision=case.kv_precision,
        runtime=case.runtime,
        version=case.version,
        replicas_per_host=case.replicas_per_host,
        sold_as=case.sale.sold_as,
        commitment=case.sale.commitment,
        price_usd_per_hour=_dollars(case.sale),
        best_usd_per_1m_output=case.price_per_1m_output,
        price=case.sale.price,
        stale=case.sale.stale,
        notes=case.notes,
    )


def _dollars(sale: Sale) -> float | None:
    price = sale.price
    return price.value if price is not None and price.unit == DOLLARS_PER_HOUR else None


def _per_million(sale: Sale, tokens_per_hour: float | None) -> float | None:
    price = _dollars(sale)
    return price / tokens_per_hour * MILLION if price is not None and tokens_per_hour else None


def _assumptions(place: Placement) -> Assumptions:
    return (
        ("achieved bandwidth", place.achieved_bandwidth),
        ("achieved compute", place.achieved_compute),
        ("workspace", place.workspace),
    )
