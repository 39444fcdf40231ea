"""Everything known of one candidate: a case that gates can judge, or what is not modelled."""

from __future__ import annotations

from dataclasses import dataclass, replace

from catalog.placement import Placement
from catalog.sale import Sale


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A candidate that the gates can judge; ``notes`` say what was taken from where."""

    name: str
    placement: Placement
    sale: Sale
    parity: str = "contract"
    notes: tuple[str, ...] = ()

    def with_placement(self, placement: Placement) -> Case:
        """The same candidate placed otherwise."""
        return replace(self, placement=placement)


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
