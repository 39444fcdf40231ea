"""Gate 5, economics: even at the bound a million output tokens must not cost too much."""

from __future__ import annotations

from functools import partial

from catalog.best_case import assumed_tokens_per_hour, cost
from catalog.case import Case
from catalog.gates._answers import assumed, bound, compared, unknown
from catalog.quantity import Basis, Quantity
from catalog.verdict import Figures, GateResult, Input, Status

ORDER = 6
NAME = "economics"
READS = "price"
_FORMULA = "hourly price / (3600 · engines · O / max(compute s, memory s)) ≤ cost ceiling"
_WORKING = (
    "bound: {price} / {tokens_per_hour} gives {bound}, ceiling {limit}; taking turns at the "
    "assumed rates {assumed_tokens_per_hour} give {assumed_cost}; measured: open"
)
_BECAUSE = {
    Status.PASS: "{bound} at the bound; {limit} are allowed",
    Status.UNLIKELY: "{bound} even at the bound; {limit} are allowed, and the price may change",
    Status.REJECT: "{bound} even at the bound; {limit} are allowed",
    Status.NOT_APPLICABLE: "the contract states no cost ceiling; at best {bound}",
}
_FIRM = (Basis.SPECIFICATION, Basis.MEASUREMENT)


def judge(case: Case) -> GateResult:
    """Whether the best case costs less than the ceiling, if the contract states one."""
    sale, ceiling = case.sale, case.placement.terms.cost_ceiling
    least = cost(sale, case.best_tokens_per_hour, Basis.BOUND)
    clause = f"at most {ceiling}" if ceiling is not None else "no cost ceiling"
    if ceiling is not None and (least is None or least.unit != ceiling.unit):
        return unknown(NAME, _missing(case, ceiling), clause=clause, formula=_FORMULA)
    status, margin = Status.NOT_APPLICABLE, None
    if least is not None:
        limit = ceiling.value if ceiling is not None else None
        status, margin = compared(least.value, None, limit, doubts=_doubts(case))
    return GateResult(
        gate=NAME,
        status=status,
        clause=clause,
        bound=least,
        limit=ceiling,
        margin=margin,
        formula=_FORMULA,
        open_questions=("$ per 1M compliant tokens",),
        because=_BECAUSE[status],
        working=_WORKING,
        figured=partial(_figures, case),
    )


def _figures(case: Case) -> Figures:
    return Figures(inputs=_inputs(case), details=_details(case))


def _missing(case: Case, ceiling: Quantity) -> str:
    price = case.sale.price
    if price is None:
        return "the price of an hour"
    if price.unit.partition("/")[0] != ceiling.unit.partition("/")[0]:
        return f"the price in the ceiling's currency (it is in {price.unit})"
    return f"a peak rate of {case.placement.device.title}"


def _doubts(case: Case) -> tuple[str, ...]:
    """A list or assumed price is an assumption: it makes a candidate unlikely at most."""
    price = case.sale.price
    firm = price is not None and price.basis in _FIRM and price.is_verified
    return () if firm and not case.sale.stale else ("the price",)


def _inputs(case: Case) -> tuple[Input, ...]:
    named = {
        "price": case.sale.price,
        "engines": bound(case.placement.engines, "engines"),
        "tokens_per_hour": _tokens(case.best_tokens_per_hour, Basis.BOUND),
    }
    return tuple(Input(name=name, quantity=q) for name, q in named.items() if q is not None)


def _details(case: Case) -> dict[str, Quantity | str]:
    likely = assumed_tokens_per_hour(case.placement)
    named = {
        "assumed_tokens_per_hour": None if likely is None else assumed(likely, "tok/h"),
        "assumed_cost": cost(case.sale, likely, Basis.ASSUMPTION),
    }
    return {name: figure for name, figure in named.items() if figure is not None}


def _tokens(value: float | None, basis: Basis) -> Quantity | None:
    return None if value is None else Quantity(value=value, unit="tok/h", basis=basis)
