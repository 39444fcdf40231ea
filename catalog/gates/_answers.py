"""What gates share: comparing both columns with a limit, and saying what is missing."""

from __future__ import annotations

from collections.abc import Mapping

from catalog.quantity import Basis, Quantity
from catalog.verdict import Figures, GateResult, Status

GIB = 2.0**30
_DERIVED = "derived from the inputs"


def compared(
    bound: float,
    assumption: float | None,
    limit: float | None,
    *,
    usable: float | None = None,
    doubts: tuple[str, ...] = (),
) -> tuple[Status, float | None]:
    """Status and margin of two values of one unit that must not exceed ``limit``.

    ``usable`` is the assumption's own limit where it differs. ``doubts`` name unverified
    facts that the bound rests on: with them it cannot reject.
    """
    if limit is None:
        return Status.NOT_APPLICABLE, None
    proven = _left(bound, limit)
    if bound > limit:
        return (Status.UNLIKELY if doubts else Status.REJECT), proven
    if assumption is None:
        return Status.PASS, proven
    allowed = limit if usable is None else usable
    assumed = _left(assumption, allowed)
    margin = assumed if proven is None or (assumed is not None and assumed < proven) else proven
    return (Status.UNLIKELY if assumption > allowed else Status.PASS), margin


def _left(value: float, limit: float) -> float | None:
    return (limit - value) / limit if limit > 0 else None


def unverified(facts: Mapping[str, Quantity | None]) -> tuple[str, ...]:
    """Names of those facts that are general knowledge without a source read."""
    return tuple(
        name for name, fact in facts.items() if fact is not None and not fact.is_verified
    )


def doubt_detail(doubts: tuple[str, ...]) -> dict[str, Quantity | str]:
    """The unverified facts as a detail that sentences can name; empty where there are none."""
    return {"doubt": ", ".join(doubts)} if doubts else {}


def unknown(gate: str, missing: str, *, clause: str = "", formula: str = "") -> GateResult:
    """The answer where a needed fact is missing; ``missing`` says which."""
    return GateResult(
        gate=gate,
        status=Status.UNKNOWN,
        clause=clause,
        formula=formula,
        because="unknown: {missing}",
        working="not computed: {missing}",
        figured=lambda: Figures(details={"missing": missing}),
    )


def bound(value: float, unit: str) -> Quantity:
    """A figure derived from specifications alone."""
    return Quantity(value=value, unit=unit, basis=Basis.BOUND, source=_DERIVED)


def assumed(value: float, unit: str) -> Quantity:
    """A figure that rests on an assumption or on the lesson's rule."""
    return Quantity(value=value, unit=unit, basis=Basis.ASSUMPTION, source=_DERIVED)


def stated(value: float, unit: str) -> Quantity:
    """A figure that the campaign states."""
    return Quantity(
        value=value, unit=unit, basis=Basis.ASSUMPTION, source="stated in the campaign"
    )


def milliseconds(seconds: float) -> str:
    """A limit as a person writes it: ``25 ms``."""
    return f"{seconds * 1e3:.6g} ms"
