"""What gates share: comparing both columns with a limit, and saying what is missing."""

from __future__ import annotations

from collections.abc import Mapping

from catalog.quantity import Basis, Quantity
from catalog.verdict import GateResult, Status

GIB = 2.0**30
_DERIVED = "derived from the inputs"


def compared(
    bound: Quantity,
    assumption: Quantity | None,
    limit: Quantity | None,
    *,
    usable: Quantity | None = None,
    doubts: tuple[str, ...] = (),
) -> tuple[Status, float | None]:
    """Status and margin of two values that must not exceed ``limit``.

    ``usable`` is the assumption's own limit where it differs. ``doubts`` name unverified
    facts that the bound rests on: with them it cannot reject.
    """
    if limit is None:
        return Status.NOT_APPLICABLE, None
    proven = _left(bound, limit)
    if bound.value > limit.value:
        return (Status.UNLIKELY if doubts else Status.REJECT), proven
    if assumption is None:
        return Status.PASS, proven
    assumed = _left(assumption, usable or limit)
    fails = assumption.value > (usable or limit).value
    margins = [margin for margin in (proven, assumed) if margin is not None]
    return (Status.UNLIKELY if fails else Status.PASS), min(margins, default=None)


def _left(value: Quantity, limit: Quantity) -> float | None:
    return (limit.value - value.value) / limit.value if limit.value > 0 else None


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
        details={"missing": missing},
        because="unknown: {missing}",
        working="not computed: {missing}",
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
    return f"{seconds * 1e3:g} ms"
