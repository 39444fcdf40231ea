"""Everything known of one candidate: a case that gates can judge, or what is not modelled."""

from __future__ import annotations

from dataclasses import dataclass, replace

from catalog.best_case import best_tokens_per_hour
from catalog.placement import Placement
from catalog.sale import Sale


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A candidate that the gates can judge; ``notes`` say what was taken from where.

    ``best_tokens_per_hour`` is what its placement delivers at the bound.
    """

    name: str
    placement: Placement
    best_tokens_per_hour: float | None
    sale: Sale
    parity: str = "contract"
    notes: tuple[str, ...] = ()

    def with_placement(self, placement: Placement) -> Case:
        """The same candidate placed otherwise."""
        best = best_tokens_per_hour(placement)
        return replace(self, placement=placement, best_tokens_per_hour=best)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmodelled:
    """A candidate that no arithmetic covers; ``reason`` says what is missing."""

    name: str
    reason: str
    sale: Sale
    device: str | None = None
    device_title: str | None = None
    device_count: int | None = None
    tensor_parallel: int | None = None
    precision: str | None = None
    kv_precision: str | None = None
    runtime: str | None = None
    version: str | None = None
    replicas_per_host: int | None = None
    parity: str = "contract"
    price_per_1m_output: float | None = None
    notes: tuple[str, ...] = ()
