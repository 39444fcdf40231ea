"""The paper vote over a campaign's candidates, or over every offer of the catalog."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from catalog.quantity import Quantity
from catalog.verdict import GateResult, Input, Rank, Status, Verdict, quantity_json

__all__ = ["ContractSummary", "GateResult", "Input", "Rank", "Screen", "Status", "Verdict"]


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
    """All candidates of one contract with their verdicts, in the order to show them."""

    name: str
    contract: ContractSummary
    candidates: tuple[Verdict, ...]
    all_offers: bool = False

    @property
    def counts(self) -> Mapping[Status, int]:
        """How many candidates have each verdict."""
        return Counter(candidate.verdict for candidate in self.candidates)

    @property
    def survivors(self) -> tuple[Verdict, ...]:
        """Candidates that no bound rejects."""
        return tuple(c for c in self.candidates if c.verdict is not Status.REJECT)

    @property
    def primary(self) -> Verdict | None:
        """The paper's first choice; None when nothing passes."""
        return next((c for c in self.candidates if Rank.PRIMARY in c.ranks), None)

    def to_json(self) -> dict[str, Any]:
        """The screen as ``--json`` prints it."""
        return {
            "schema_version": 1,
            "name": self.name,
            "stamp": "ESTIMATE",
            "contract": self.contract.to_json(),
            "counts": {status.value: count for status, count in sorted(self.counts.items())},
            "candidates": [candidate.to_json() for candidate in self.candidates],
        }


def _plain(value: object) -> object:
    return quantity_json(value) if isinstance(value, Quantity) else value
