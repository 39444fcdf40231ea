"""A candidate's verdict: all its gates, the worst of them, its price and its best case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from catalog.gate_result import (
    SEVERITY,
    Figures,
    GateResult,
    Input,
    Status,
    quantity_json,
    shown,
)
from catalog.placement import Replaced
from catalog.quantity import Basis, Quantity

__all__ = [
    "SEVERITY",
    "Figures",
    "GateResult",
    "Input",
    "Rank",
    "Status",
    "Verdict",
    "quantity_json",
    "shown",
]
_ALWAYS_OPEN = ("p95 TTFT", "p95 ITL", "queue time", "goodput", "quality")


class Rank(StrEnum):
    """Where a candidate stands among those of its screen."""

    PRIMARY = "primary"
    COST_INEFFICIENT = "cost-inefficient"
    THIN_MARGIN = "thin-margin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """One candidate after all gates: the worst of them, its price and its best case.

    ``verdict`` is never ``not_applicable``. ``best_usd_per_1m_output`` is what a million
    output tokens would cost at the bound; None for a reject or an unknown price. ``price`` and
    ``best_cost`` are the same two in whatever currency the price is stated. ``parity``
    says whether the precision is the contract's. ``assumptions`` are what the verdict takes
    for granted until it is measured. ``notes`` say what was taken from where (a user's own
    catalog entry, an assumed price, a version that was not pinned). ``calibrated`` are
    assumptions that a calibration of the host has measured, both figures side by side.
    """

    name: str
    verdict: Status
    gates: tuple[GateResult, ...]
    decided_by: str | None = None
    clause: str | None = None
    ranks: tuple[Rank, ...] = ()
    parity: str = "contract"
    offer: str | None = None
    device: str | None = None
    device_title: str | None = None
    device_count: int | None = None
    tensor_parallel: int | None = None
    precision: str | None = None
    kv_precision: str | None = None
    runtime: str | None = None
    version: str | None = None
    replicas_per_host: int | None = None
    sold_as: str | None = None
    commitment: str | None = None
    price_usd_per_hour: float | None = None
    best_usd_per_1m_output: float | None = None
    price: Quantity | None = None
    best_cost: Quantity | None = None
    best_tokens_per_hour: float | None = None
    stale: bool = False
    notes: tuple[str, ...] = ()
    assumptions: tuple[tuple[str, Quantity | None], ...] = ()
    calibrated: tuple[Replaced, ...] = ()

    def gate(self, name: str) -> GateResult:
        """The result of the gate called ``name`` (KeyError where there is none)."""
        for result in self.gates:
            if result.gate == name:
                return result
        raise KeyError(name)

    @property
    def hourly(self) -> float | None:
        """Price of an hour in its own currency; None where it is unknown."""
        return self.price_usd_per_hour if self.price is None else self.price.value

    @property
    def cost(self) -> float | None:
        """Cost of a million output tokens at the bound, in the price's own currency."""
        return self.best_usd_per_1m_output if self.best_cost is None else self.best_cost.value

    @property
    def currency(self) -> str:
        """Currency of the price; dollars where none is known."""
        stated = self.best_cost or self.price
        return "USD" if stated is None else stated.unit.partition("/")[0]

    @property
    def reason(self) -> str:
        """The deciding gate's sentence; empty for a pass."""
        return self.gate(self.decided_by).reason if self.decided_by else ""

    @property
    def open_questions(self) -> tuple[str, ...]:
        """What no paper can say, and which assumptions the verdict uses."""
        return tuple(dict.fromkeys((*_ALWAYS_OPEN, *self._open())))

    def _open(self) -> Iterator[str]:
        for name, quantity in self.assumptions:
            if quantity is None:
                yield f"{name}: not even assumed"
            elif quantity.basis is Basis.ASSUMPTION:
                yield f"{name}: {quantity} is assumed"
        for gate in self.gates:
            yield from gate.open_questions

    @property
    def margin(self) -> float | None:
        """The smallest margin over all gates that have one."""
        margins = [gate.margin for gate in self.gates if gate.margin is not None]
        return min(margins, default=None)

    def to_json(self) -> dict[str, Any]:
        """The candidate as ``--json`` prints it."""
        return self._columns() | {
            "reason": self.reason or None,
            "open_questions": list(self.open_questions),
            "gates": [gate.to_json() for gate in self.gates],
        }

    def to_brief_json(self, gates: list[dict[str, Any]]) -> dict[str, Any]:
        """The same without sentences, with ``gates`` as the caller has put them."""
        return self._columns() | {"gates": gates}

    def _columns(self) -> dict[str, Any]:
        plain = {name: getattr(self, name) for name in _PLAIN}
        return plain | {
            "verdict": self.verdict.value,
            "ranks": [rank.value for rank in self.ranks],
            "price": quantity_json(self.price),
            "best_cost": quantity_json(self.best_cost),
            "notes": list(self.notes),
            "calibrated": [
                {
                    "name": each.name,
                    "assumption": _cited(each.assumption),
                    "measurement": _cited(each.measurement),
                }
                for each in self.calibrated
            ],
        }


def _cited(quantity: Quantity | None) -> dict[str, Any] | None:
    """A quantity with its source and date."""
    if quantity is None:
        return None
    plain = Input(name="", quantity=quantity).to_json()
    del plain["name"]
    return plain


_PLAIN = (
    "name",
    "offer",
    "device",
    "device_count",
    "tensor_parallel",
    "precision",
    "kv_precision",
    "runtime",
    "version",
    "replicas_per_host",
    "sold_as",
    "commitment",
    "decided_by",
    "clause",
    "parity",
    "price_usd_per_hour",
    "best_usd_per_1m_output",
    "best_tokens_per_hour",
    "stale",
)
